//! The project's own documents, one for each format and each malformation (requirements F2, F3, W1), and what must come
//! out of them: `NAME.xml`, `NAME.json` or `NAME.html` beside `NAME.expected.json`, the model after sanitising.
//!
//! `NAME.hints.json` says what HTTP said, where that matters. `UPDATE_FIXTURES=1` writes what the parser makes of each
//! document, right or wrong: it has to be read before it is kept.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use feed::{Hints, parse};
use serde_json::{Value, json};

/// A document and what HTTP said of it.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    hints: Value,
}

impl Fixture {
    pub(crate) fn hints(&self) -> Hints<'_> {
        let of = |name: &str| self.hints.get(name).and_then(Value::as_str);
        Hints { content_type: of("contentType"), url: of("url"), base: of("contentLocation"), ..Hints::default() }
    }

    fn expected_path(&self) -> PathBuf {
        folder().join(&self.name).with_extension("expected.json")
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// All documents, by name.
pub(crate) fn all() -> Vec<Fixture> {
    let entries = fs::read_dir(folder()).expect("the fixtures are part of the sources");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    paths.retain(|path| {
        let name = path.to_string_lossy();
        !name.ends_with(".expected.json") && !name.ends_with(".hints.json")
    });
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// One document, by its file name.
pub(crate) fn one(name: &str) -> Fixture {
    read(&folder().join(name))
}

fn read(path: &Path) -> Fixture {
    let hints = fs::read(path.with_extension("hints.json"))
        .map_or(Value::Null, |hints| serde_json::from_slice(&hints).expect("hints are JSON"));
    let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
    Fixture { name, bytes: fs::read(path).expect("a fixture can be read"), hints }
}

/// What comes out of a document, as JSON that people read.
fn outcome(fixture: &Fixture) -> String {
    let outcome = match parse(&fixture.bytes, &fixture.hints()) {
        Ok(mut feed) => {
            feed.head.sanitise();
            feed.entries.iter_mut().for_each(feed::Entry::sanitise);
            serde_json::to_value(&feed).expect("the model is JSON")
        }
        Err(error) => json!({ "error": error.to_string() }),
    };
    format!("{outcome:#}\n")
}

/// Requirements F2, F3, W1: every document gives what stands beside it.
#[test]
fn f2_f3_w1_fixtures_match_expectations() {
    let update = std::env::var_os("UPDATE_FIXTURES").is_some_and(|value| value == "1");
    let mut faults = String::new();
    for fixture in all() {
        let found = outcome(&fixture);
        if update {
            fs::write(fixture.expected_path(), &found).expect("the expectation can be written");
            continue;
        }
        let expected = fs::read_to_string(fixture.expected_path()).unwrap_or_default();
        if found != expected {
            writeln!(faults, "\n{} (- expected, + found):\n{}", fixture.name, diff(&expected, &found))
                .expect("a String takes all");
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

/// Nothing is expected of a document that is not there.
#[test]
fn every_expectation_has_its_fixture() {
    let known: Vec<PathBuf> = all().iter().map(Fixture::expected_path).collect();
    let hints: Vec<PathBuf> = known.iter().map(|path| path.with_extension("").with_extension("hints.json")).collect();
    for entry in fs::read_dir(folder()).expect("the fixtures are part of the sources") {
        let path = entry.expect("the folder can be listed").path();
        let name = path.to_string_lossy();
        assert!(!name.ends_with(".expected.json") || known.contains(&path), "{name} has no document");
        assert!(!name.ends_with(".hints.json") || hints.contains(&path), "{name} has no document");
    }
}

/// Lines around a change that are shown with it.
const CONTEXT_LINES: usize = 2;

/// The lines that differ, each with a few around it.
fn diff(expected: &str, found: &str) -> String {
    let lines = compared(&expected.lines().collect::<Vec<_>>(), &found.lines().collect::<Vec<_>>());
    let changed = |at: usize| lines.get(at).is_some_and(|(mark, _)| *mark != ' ');
    let mut shown = String::new();
    for (at, (mark, line)) in lines.iter().enumerate() {
        if (at.saturating_sub(CONTEXT_LINES)..=at + CONTEXT_LINES).any(changed) {
            writeln!(shown, "{mark} {line}").expect("a String takes all");
        } else if (at.saturating_sub(CONTEXT_LINES + 1)..at).any(changed) {
            shown.push_str("  ...\n");
        }
    }
    shown
}

/// All lines of both in one list, by their longest common subsequence: `-` only expected, `+` only found.
fn compared<'a>(expected: &[&'a str], found: &[&'a str]) -> Vec<(char, &'a str)> {
    let mut common = vec![vec![0usize; found.len() + 1]; expected.len() + 1];
    for (i, left) in expected.iter().enumerate().rev() {
        for (j, right) in found.iter().enumerate().rev() {
            common[i][j] =
                if left == right { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < expected.len() || j < found.len() {
        if i < expected.len() && j < found.len() && expected[i] == found[j] {
            lines.push((' ', expected[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == found.len() || i < expected.len() && common[i + 1][j] >= common[i][j + 1] {
            lines.push(('-', expected[i]));
            i += 1;
        } else {
            lines.push(('+', found[j]));
            j += 1;
        }
    }
    lines
}

#[test]
fn differences_shown_with_context() {
    let expected = "a\nb\nc\nd\ne\nf\ng\nh";
    assert_eq!(diff(expected, "a\nb\nc\nX\ne\nf\ng\nh"), "  b\n  c\n- d\n+ X\n  e\n  f\n  ...\n");
    assert_eq!(diff(expected, expected), "");
}
