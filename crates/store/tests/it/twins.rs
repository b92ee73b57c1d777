//! The two adapters: files and statements of the same names, or with the reason why not.

#![expect(clippy::unwrap_used, reason = "a test fails where something is not as it should be")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const REASON: &str = "Differs from the other store";

const ADAPTERS: [(&str, &str); 2] = [("sqlite", "postgres"), ("postgres", "sqlite")];

/// Folders of an adapter's own: how it reaches its database, and tests of that.
const OWN: [&str; 2] = ["shared", "tests"];

/// Names of functions that many types have.
const COMMON: [&str; 4] = ["new", "of", "add", "from"];

/// Folders in which the constants of statements are the same too, whether they are files or not.
const ALIKE: [&str; 1] = ["accounts"];

/// The files of an adapter that end so, by their paths inside it, with what they hold.
fn files(adapter: &str, ending: &str) -> BTreeMap<PathBuf, String> {
    let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(adapter);
    let (mut folders, mut found) = (vec![adapter.clone()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.insert(path.strip_prefix(&adapter).unwrap().to_path_buf(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// The constants of statements in a source, each with the comment before it.
fn constants(source: &str) -> Vec<(&str, String)> {
    let (mut comment, mut found) = (String::new(), Vec::new());
    for line in source.split("\n#[cfg(test)]").next().unwrap().lines() {
        if line.starts_with("//") {
            comment.push_str(line);
            continue;
        }
        if let Some((start, _)) = line.split_once(": &str =")
            && let Some((_, name)) = start.split_once("const ")
        {
            found.push((name, comment.clone()));
        }
        comment.clear();
    }
    found
}

/// The functions of a source in their order, each once.
fn functions(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in source.split("\n#[cfg(test)]").next().unwrap().lines() {
        let Some((before, rest)) = line.split_once("fn ") else { continue };
        let is_declared =
            before.split_whitespace().all(|word| word.starts_with("pub") || word == "async" || word == "const");
        let name = rest.split(['(', '<']).next().unwrap();
        if is_declared && !COMMON.contains(&name) && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[test]
fn statements_without_a_twin_say_why() {
    for (adapter, other) in ADAPTERS {
        let (ours, theirs) = (files(adapter, "sql"), files(other, "sql"));
        assert!(ours.len() > 50, "{adapter}: {}", ours.len());
        for (statement, text) in ours.iter().filter(|(statement, _)| !theirs.contains_key(*statement)) {
            let reason = format!("-- {REASON}");
            assert!(text.starts_with(&reason), "{adapter}/{}: begin it with `{reason}: ...`", statement.display());
        }
    }
}

#[test]
fn modules_without_a_twin_say_why() {
    for (adapter, other) in ADAPTERS {
        let (ours, theirs) = (files(adapter, "rs"), files(other, "rs"));
        assert!(ours.len() > 50, "{adapter}: {}", ours.len());
        let is_own = |module: &Path| OWN.iter().any(|folder| module.starts_with(folder));
        for (module, text) in ours.iter().filter(|(module, _)| !is_own(module) && !theirs.contains_key(*module)) {
            let reason = format!("//! {REASON}: ");
            assert!(text.contains(&reason), "{adapter}/{}: say in its head `{reason}...`", module.display());
        }
    }
}

/// So statements of the same name are constants of the same name.
#[test]
fn statements_are_called_as_their_constants() {
    let mut seen = 0;
    for (module, text) in ADAPTERS.iter().flat_map(|(adapter, _)| files(adapter, "rs")) {
        for line in text.replace("=\n    include_str!", "= include_str!").lines() {
            let Some((start, rest)) = line.split_once(": &str = include_str!(\"sql/") else { continue };
            let (name, file) = (start.rsplit(' ').next().unwrap().to_lowercase(), rest.split('.').next().unwrap());
            let stem = module.file_stem().unwrap().to_str().unwrap();
            let expect = if stem == "mod" { name } else { format!("{stem}_{name}") };
            assert_eq!(file, expect, "{}: {line}", module.display());
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn constants_without_a_twin_say_why() {
    for (adapter, other) in ADAPTERS {
        let (ours, theirs) = (files(adapter, "rs"), files(other, "rs"));
        for (module, text) in ours.iter().filter(|(module, _)| ALIKE.iter().any(|folder| module.starts_with(folder))) {
            let twins: BTreeSet<&str> = theirs
                .get(module)
                .map(|twin| constants(twin).into_iter().map(|(name, _)| name).collect())
                .unwrap_or_default();
            for (name, comment) in constants(text).into_iter().filter(|(name, _)| !twins.contains(name)) {
                let is_file = text.contains(&format!("{name}: &str = include_str!"));
                assert!(is_file || comment.contains(REASON), "{adapter}/{}: {name}: say why", module.display());
            }
        }
    }
}

/// So whoever has read the one finds the way in the other.
#[test]
fn functions_of_twins_are_in_the_same_order() {
    let (sqlite, postgres) = (files("sqlite", "rs"), files("postgres", "rs"));
    let is_own = |module: &Path| OWN.iter().any(|folder| module.starts_with(folder));
    let mut seen = 0;
    for (module, text) in sqlite.iter().filter(|(module, _)| !is_own(module)) {
        let Some(twin) = postgres.get(module) else { continue };
        let (ours, theirs) = (functions(text), functions(twin));
        let shared = |of: &[&str], other: &[&str]| -> Vec<String> {
            of.iter().filter(|name| other.contains(name)).map(|name| (*name).to_owned()).collect()
        };
        let both = shared(&ours, &theirs);
        assert_eq!(both, shared(&theirs, &ours), "{}", module.display());
        seen += both.len();
    }
    assert!(seen > 200, "{seen}");
}
