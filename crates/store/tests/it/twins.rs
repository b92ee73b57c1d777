//! Statements of the two adapters: of the same name, or with the reason why not.

#![expect(clippy::unwrap_used, reason = "a test fails where something is not as it should be")]

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

const REASON: &str = "-- Differs from the other store";

/// The `.sql` files of an adapter, by their paths inside it.
fn statements(adapter: &Path) -> BTreeSet<PathBuf> {
    let (mut folders, mut found) = (vec![adapter.to_path_buf()], BTreeSet::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sql") {
                found.insert(path.strip_prefix(adapter).unwrap().to_path_buf());
            }
        }
    }
    found
}

#[test]
fn statements_without_a_twin_say_why() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (adapter, other) in [("sqlite", "postgres"), ("postgres", "sqlite")] {
        let (ours, theirs) = (statements(&src.join(adapter)), statements(&src.join(other)));
        assert!(ours.len() > 50, "{adapter}: {}", ours.len());
        for statement in ours.difference(&theirs) {
            let text = std::fs::read_to_string(src.join(adapter).join(statement)).unwrap();
            assert!(text.starts_with(REASON), "{adapter}/{}: begin it with `{REASON}: ...`", statement.display());
        }
    }
}
