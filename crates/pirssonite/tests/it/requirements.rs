//! The requirements that tests cite by their ids (`D9`, `FR-001`) are in `docs/requirements.md`, and the names of types and
//! tables in the glossary.

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

/// What stands in `code` in the first columns of the tables, but for the crates that it is in: `InFlight` (in `engine`).
fn in_glossary(text: &str) -> Vec<&str> {
    let cells = text.lines().filter_map(|line| Some(line.strip_prefix("| ")?.split_once(" |")?.0));
    let is_crate = |before: &str| before.ends_with("(in ");
    cells
        .flat_map(|cell| {
            let parts: Vec<&str> = cell.split('`').collect();
            parts.windows(2).step_by(2).filter(|pair| !is_crate(pair[0])).map(|pair| pair[1]).collect::<Vec<_>>()
        })
        .collect()
}

/// The types that a source makes public, but for those of its tests.
fn types_of(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let declared = code.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let (keyword, name) = rest.split_once(' ')?;
        ["struct", "enum", "trait", "type"].contains(&keyword).then_some(name)
    });
    let names = declared.map(|name| name.chars().take_while(|letter| letter.is_alphanumeric()).collect());
    // A macro's has no name yet.
    names.filter(|name: &String| !name.is_empty()).collect()
}

/// The tables that a migration makes.
fn tables_of(sql: &str) -> Vec<String> {
    let made = sql.lines().filter_map(|line| line.trim_start().strip_prefix("CREATE TABLE "));
    made.map(|rest| rest.chars().take_while(|letter| *letter == '_' || letter.is_alphanumeric()).collect()).collect()
}

#[test]
fn glossary_has_every_type_and_table_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let contributing = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let glossary = in_glossary(contributing.split_once("\n## Names\n").unwrap().1);
    let sources = rust_files(&root.join("crates/domain/src"));
    let mut nouns: Vec<String> = sources
        .iter()
        .filter(|file| !file.ends_with("machine_tests.rs"))
        .flat_map(|file| types_of(&fs::read_to_string(file).unwrap()))
        .collect();
    for migration in fs::read_dir(root.join("crates/store/migrations/postgres")).unwrap() {
        nouns.extend(tables_of(&fs::read_to_string(migration.unwrap().path()).unwrap()));
    }
    assert!(nouns.len() > 200, "{nouns:?}");
    let named = |noun: &String| glossary.iter().filter(|known| *known == noun).count();
    let not_once: Vec<_> = nouns.iter().filter(|noun| named(noun) != 1).map(|noun| (noun, named(noun))).collect();
    assert!(not_once.is_empty(), "what CONTRIBUTING's glossary has not, or more than once: {not_once:?}");
    let distinct: BTreeSet<&String> = nouns.iter().collect();
    assert_eq!(distinct.len(), nouns.len(), "a name of two types: {nouns:?}");
}

/// How it is built: the overview, and the pages that say more.
const ARCHITECTURE: [&str; 3] = ["ARCHITECTURE.md", "docs/store.md", "docs/web.md"];

/// All that stands in `code`.
fn code_in(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Whether a file is meant: by the end of its path, `store/` being either adapter.
fn is_named(file: &Path, name: &str) -> bool {
    let name = Path::new(name);
    let in_adapter =
        |adapter: &str| name.strip_prefix("store").is_ok_and(|rest| file.ends_with(Path::new(adapter).join(rest)));
    file.ends_with(name) || in_adapter("sqlite") || in_adapter("postgres")
}

#[test]
fn architecture_names_files_and_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let architecture: String = ARCHITECTURE.iter().map(|page| fs::read_to_string(root.join(page)).unwrap()).collect();
    let mut files = rust_files(&root.join("crates"));
    let scripts = fs::read_dir(root.join("crates/web/assets/js")).unwrap();
    files.extend(scripts.map(|script| script.unwrap().path()));
    let (tests, mut named, mut held) = (root.join("crates/store/tests/it"), 0, 0);
    for code in code_in(&architecture) {
        if Path::new(code).extension().is_some_and(|extension| extension == "rs" || extension == "js") {
            assert!(files.iter().any(|file| is_named(file, code)), "there is no {code}");
            named += 1;
        }
        // A test of the store: its module, in the contract if it names no other folder, and its name.
        let Some((module, case)) = code.rsplit_once("::").filter(|(_, case)| !cited(case).is_empty()) else { continue };
        let (folder, module) = module.split_once("::").unwrap_or(("contract", module));
        let source = fs::read_to_string(tests.join(folder).join(format!("{module}.rs")));
        let is_there = source.is_ok_and(|source| source.contains(&format!("fn {case}(")));
        assert!(is_there, "no test is {code}");
        held += 1;
    }
    assert!(named > 100 && held > 30, "{named} files and {held} tests");
}

/// What stands in brackets behind a file is in it: `list.js` (`isBefore`). What is "in" another file is not meant.
#[test]
fn documents_name_what_is_in_their_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = rust_files(&root.join("crates"));
    let scripts = fs::read_dir(root.join("crates/web/assets/js")).unwrap();
    files.extend(scripts.map(|script| script.unwrap().path()));
    let mut named = 0;
    for document in ARCHITECTURE.into_iter().chain(["CONTRIBUTING.md"]) {
        let text = fs::read_to_string(root.join(document)).unwrap();
        for (before, behind) in text.match_indices("` (`").map(|(at, _)| text.split_at(at)) {
            let file = before.rsplit('`').next().unwrap();
            if !Path::new(file).extension().is_some_and(|extension| extension == "rs" || extension == "js") {
                continue;
            }
            let inside = behind["` (".len()..].split(')').next().unwrap();
            let parts: Vec<&str> = inside.split('`').collect();
            for pair in parts.windows(2).skip(1).step_by(2).filter(|pair| !pair[1].starts_with(" in ")) {
                let Some(name) = pair[0].rsplit("::").next().filter(|name| is_name(name)) else { continue };
                let is_there = files.iter().filter(|path| is_named(path, file)).any(|path| has_word(path, name));
                assert!(is_there, "{document}: {file} has no {name}");
                named += 1;
            }
        }
    }
    assert!(named > 10, "{named}");
}

fn is_name(text: &str) -> bool {
    text.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}

fn has_word(file: &Path, word: &str) -> bool {
    let source = fs::read_to_string(file).unwrap();
    source.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric()).any(|found| found == word)
}

/// A second kind of delivery is a module beside `over_http`: see "Where would it go?" in CONTRIBUTING.
#[test]
fn u6_one_module_of_dispatch_speaks_http() {
    let dispatch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src/dispatch");
    let files = rust_files(&dispatch).into_iter().filter(|file| !file.starts_with(dispatch.join("tests")));
    for file in files.filter(|file| !file.ends_with("over_http.rs")) {
        let source = fs::read_to_string(&file).unwrap();
        for word in ["HttpRequest", "HttpResponse", "HttpError", "Headers", "traceparent", "status"] {
            assert!(!source.contains(word), "{}: {word}", file.display());
        }
    }
}

/// A new order of entries has one place in the scripts.
#[test]
fn u2_one_script_knows_the_order() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/assets/js");
    let scripts = fs::read_dir(scripts).unwrap().map(|script| fs::read_to_string(script.unwrap().path()).unwrap());
    let asks = |line: &&str| line.contains("oldest\"") || line.contains("=oldest");
    let places: usize = scripts.map(|script| script.lines().filter(asks).count()).sum();
    assert_eq!(places, 1);
}
