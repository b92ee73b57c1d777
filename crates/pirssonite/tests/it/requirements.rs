//! The requirements that tests cite by their ids (`D9`, `FR-001`) are in `docs/requirements.md`.

use std::{collections::BTreeSet, fs, path::Path};

use crate::metrics::rust_files;

/// What ids begin with, in names of tests.
const FAMILIES: &str = "adfpsuw";

/// The ids that the name of a test begins with: `fr_001_d5_long_send...` cites FR-001 and D5.
fn cited(name: &str) -> Vec<String> {
    let mut words = name.split('_').peekable();
    let mut ids = Vec::new();
    while let Some(word) = words.next() {
        let number = word.get(1..).unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_lowercase());
        if word == "fr" && words.peek().is_some_and(|number| is_number(number)) {
            ids.push(format!("FR-{}", words.next().unwrap_or_default()));
        } else if word.starts_with(|c| FAMILIES.contains(c)) && is_number(number) {
            ids.push(format!("{}{}", word[..1].to_uppercase(), &word[1..]));
        } else {
            break;
        }
    }
    ids
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn u6_cited_requirements_are_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let requirements = fs::read_to_string(root.join("docs/requirements.md")).unwrap();
    let known: BTreeSet<&str> =
        requirements.lines().filter_map(|line| Some(line.strip_prefix("| ")?.split_once(" |")?.0)).collect();
    let mut citations = 0;
    for file in rust_files(&root.join("crates")) {
        let source = fs::read_to_string(&file).unwrap();
        let names = source.lines().filter_map(|line| {
            let line = line.trim_start();
            line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?.split_once('(')
        });
        for (name, _) in names {
            for id in cited(name) {
                assert!(known.contains(id.as_str()), "{}: {name} cites {id}, which is not there", file.display());
                citations += 1;
            }
        }
    }
    assert!(citations > 500, "only {citations} citations were found");
}
