//! `pirssonite parse`: one feed, or a list of them, to JSON.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use feed::{Feed, Hints};
use serde::{Deserialize, Serialize};

use super::print_json;
use crate::fetch;

/// What to parse, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file, an http(s) URL, or `-` for standard input.
    #[arg(value_name = "FILE|URL|-", required_unless_present = "jsonl")]
    source: Option<String>,

    /// Parse all files that this list names, one JSON line each in, one JSON line each out.
    ///
    /// A line is {"file": ..., "url": ..., "headers": {...}}; the files are in `feeds/` beside the list, and `url` and
    /// `headers` are taken as the response's.
    #[arg(long, value_name = "LIST", conflicts_with = "source")]
    jsonl: Option<PathBuf>,

    /// The URL to take the document as being from.
    #[arg(long, value_name = "URL", conflicts_with = "jsonl")]
    url: Option<String>,

    /// Print texts as received. They may hold scripts: never put them on a page.
    #[arg(long)]
    unsanitised: bool,

    /// Refuse documents of more bytes than this.
    #[arg(long, value_name = "BYTES", default_value_t = feed::limits::DOCUMENT_BYTES_MAX)]
    max_bytes: usize,
}

/// A document with what HTTP says of it.
struct Document {
    bytes: Vec<u8>,
    url: Option<String>,
    headers: HashMap<String, String>,
}

/// A line of the list.
#[derive(Debug, Deserialize)]
struct ListArguments {
    file: String,
    url: Option<String>,
    #[serde(default)]
    headers: HashMap<String, String>,
}

/// A line of the answer.
#[derive(Debug, Serialize)]
struct Parsed<'a> {
    file: &'a str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Feed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match (&arguments.jsonl, &arguments.source) {
        (Some(list), _) => parse_list(list, arguments),
        (None, Some(source)) => parse_one(source, arguments),
        (None, None) => bail!("name a file, a URL or -"),
    }
}

fn parse_one(source: &str, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut document = read(source, arguments.max_bytes)?;
    document.url = arguments.url.clone().or(document.url);
    let feed = parse(&document, arguments).with_context(|| source.to_owned())?;
    print_json(&feed)?;
    Ok(ExitCode::SUCCESS)
}

/// Goes through a list. A feed that cannot be parsed is an answer, not a failure; a list that cannot be read is.
fn parse_list(list: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let folder = list.parent().unwrap_or(Path::new("")).join("feeds");
    let lines = BufReader::new(File::open(list).with_context(|| list.display().to_string())?).lines();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (number, line) in lines.enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let listed: ListArguments =
            serde_json::from_str(&line).with_context(|| format!("{}, line {}", list.display(), number + 1))?;
        let parsed = read(&folder.join(&listed.file).to_string_lossy(), arguments.max_bytes).and_then(|document| {
            parse(&Document { url: listed.url.clone(), headers: listed.headers.clone(), ..document }, arguments)
        });
        let (model, error) = match parsed {
            Ok(feed) => (Some(feed), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        serde_json::to_writer(&mut out, &Parsed { file: &listed.file, ok: model.is_some(), model, error })?;
        writeln!(out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn parse(document: &Document, arguments: &Arguments) -> anyhow::Result<Feed> {
    let header = |wanted: &str| {
        document.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
    };
    let hints = Hints {
        content_type: header("content-type"),
        url: document.url.as_deref(),
        base: header("content-location"),
        document_bytes_max: arguments.max_bytes,
    };
    let mut feed = feed::parse(&document.bytes, &hints)?;
    if !arguments.unsanitised {
        feed.head.sanitise();
        feed.entries.iter_mut().for_each(feed::Entry::sanitise);
    }
    Ok(feed)
}

/// Whether it is an address rather than a file. Schemes have no case (RFC 3986, section 3.1).
fn is_url(source: &str) -> bool {
    let scheme = source.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
}

fn read(source: &str, max_bytes: usize) -> anyhow::Result<Document> {
    if is_url(source) {
        let fetched = fetch::get(source, max_bytes)?;
        return Ok(Document { bytes: fetched.bytes, url: Some(fetched.url), headers: fetched.headers });
    }
    let reader: Box<dyn Read> = match source {
        "-" => Box::new(std::io::stdin().lock()),
        path => Box::new(File::open(path).with_context(|| path.to_owned())?),
    };
    let mut bytes = Vec::new();
    // One byte more than allowed is enough to know that there are too many.
    reader.take(max_bytes as u64 + 1).read_to_end(&mut bytes).with_context(|| source.to_owned())?;
    Ok(Document { bytes, url: None, headers: HashMap::new() })
}
