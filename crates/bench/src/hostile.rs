//! Documents made to do harm, each read and sanitised in a process of its own: an error or part of a feed may come of
//! it, but no hang, no panic, no overflown stack, and no more time and memory than the limits.
//!
//! Those over the parser's default size are read twice: as they are, which must be refused, and with that limit raised.

mod encodings;
mod feeds;
mod html;
mod json;
mod known;
mod pages;
mod xml;

use std::{fs, path::Path};

use feed::limits::DOCUMENT_BYTES_MAX;

use crate::{
    child::{self, Job},
    report::{Rating, Table, Tally, mb, mib},
};

/// CPU seconds for one document.
const CPU_SECS_MAX: f64 = 2.0;

/// Memory for one document: so much, and so many times its size.
const MEMORY_BYTES_MAX: usize = 16 << 20;
const MEMORY_FACTOR_MAX: usize = 4;

/// The same where one byte becomes three: it is held as received, as UTF-8, and as UTF-8 in an entry.
const MEMORY_FACTOR_MAX_DECODED: usize = 7;

/// Memory for each entry, which has its lists and its identity however short it is written. There are ten thousand at
/// most, so this never comes to more than 20 MiB.
const MEMORY_BYTES_MAX_AN_ENTRY: usize = 2 << 10;

/// A document by its name.
struct Case {
    name: &'static str,
    make: fn() -> Vec<u8>,
}

const GROUPS: [(&str, &[Case], usize); 7] = [
    ("the known attacks on feed readers", &known::CASES, MEMORY_FACTOR_MAX),
    ("markup against the scanner and the walk", &xml::CASES, MEMORY_FACTOR_MAX),
    ("entries and values against lists and texts", &feeds::CASES, MEMORY_FACTOR_MAX),
    ("HTML against the sanitiser", &html::CASES, MEMORY_FACTOR_MAX),
    ("pages against the reader of h-entry", &pages::CASES, MEMORY_FACTOR_MAX),
    ("JSON", &json::CASES, MEMORY_FACTOR_MAX),
    ("encodings", &encodings::CASES, MEMORY_FACTOR_MAX_DECODED),
];

pub(crate) fn run(tally: &mut Tally, wanted: Option<&str>) -> anyhow::Result<()> {
    for (title, cases, memory_factor_max) in GROUPS {
        let head = ["document", "MB", "limit", "CPU s", "of", "memory, MiB", "of"];
        let mut table = Table::new(format!("hostile: {title}"), &head);
        for case in cases.iter().filter(|case| is_wanted(case, wanted)) {
            let document = (case.make)();
            let memory_bytes_max = MEMORY_BYTES_MAX + memory_factor_max * document.len();
            measure(&mut table, case.name, &document, DOCUMENT_BYTES_MAX, memory_bytes_max)?;
            if document.len() > DOCUMENT_BYTES_MAX {
                measure(&mut table, case.name, &document, usize::MAX, memory_bytes_max)?;
            }
        }
        table.print_unless_empty(tally);
    }
    Ok(())
}

/// Writes the documents into a folder, to look into one.
pub(crate) fn write(folder: &Path, wanted: Option<&str>) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for (_, cases, _) in GROUPS {
        for case in cases.iter().filter(|case| is_wanted(case, wanted)) {
            fs::write(folder.join(case.name), (case.make)())?;
        }
    }
    Ok(())
}

fn is_wanted(case: &Case, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| case.name.contains(wanted))
}

fn measure(
    table: &mut Table,
    name: &str,
    document: &[u8],
    document_bytes_max: usize,
    memory_bytes_max: usize,
) -> anyhow::Result<()> {
    let limit = if document_bytes_max == usize::MAX { "raised" } else { "" };
    let mut cells = vec![name.to_owned(), format!("{:.1}", mb(document.len())), limit.to_owned()];
    match child::run(Job::Feed { document_bytes: document.len(), document_bytes_max }, document)? {
        Ok(measured) => {
            let memory_bytes_max = memory_bytes_max + MEMORY_BYTES_MAX_AN_ENTRY * measured.entries;
            let kept = measured.cpu_secs < CPU_SECS_MAX && measured.peak_bytes < memory_bytes_max;
            cells.extend([
                format!("{:.2}", measured.cpu_secs),
                format!("{CPU_SECS_MAX}"),
                format!("{:.0}", mib(measured.peak_bytes)),
                format!("{:.0}", mib(memory_bytes_max)),
            ]);
            table.row(&cells, Rating::of(kept), measured.outcome);
        }
        Err(end) => {
            cells.extend(
                ["-", &format!("{CPU_SECS_MAX}"), "-", &format!("{:.0}", mib(memory_bytes_max))].map(String::from),
            );
            table.row(&cells, Rating::Missed, end);
        }
    }
    Ok(())
}

/// An RSS feed of one entry that stops inside its description.
const RSS_OPEN: &str = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>t</title><item><guid>1</guid>\
                        <title>x</title><description>";
const RSS_CLOSE: &str = "</description></item></channel></rss>";

/// An RSS feed that stops after its head.
const CHANNEL_OPEN: &str = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>t</title>";
const CHANNEL_CLOSE: &str = "</channel></rss>";

/// Just below the default limit.
const NEARLY_MAX: usize = DOCUMENT_BYTES_MAX - 4096;

fn join(parts: &[&str]) -> Vec<u8> {
    parts.concat().into_bytes()
}

/// As much of a piece as the default limit takes, between a head and a tail.
fn filled(head: &str, piece: &str, tail: &str) -> Vec<u8> {
    let left = NEARLY_MAX.saturating_sub(head.len() + tail.len());
    join(&[head, &piece.repeat(left / piece.len()), tail])
}
