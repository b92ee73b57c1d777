//! The corpus: small feeds of other parsers' tests, and what must come out of them (requirements F2 and F3).
//!
//! It runs where `PIRSSONITE_CORPUS` names its folder. How many expectations are met is held by floors, which are only
//! ever raised. The judge (`score`) follows the corpus' own `score.py` and is itself under test, always.

#![expect(clippy::print_stdout, reason = "the numbers are for those who run it with --nocapture")]

mod html;
mod judge;
mod path;
mod score;
pub(crate) mod tree;

use std::{collections::HashMap, path::PathBuf};

use feed::Hints;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use path::Path;
use score::{Expectation, Op, is_met};

/// Which expectations a floor is about.
type Group = fn(&Expectation) -> bool;

/// How many expectations of a group are met at least. The numbers may only be raised.
struct Floor {
    group: &'static str,
    met: usize,
    of: usize,
}

impl Floor {
    /// A floor that is no lower than what the product promises, which is checked when it is compiled.
    const fn new(group: &'static str, met: usize, of: usize, promised_percent: usize) -> Self {
        assert!(met <= of && met * 100 >= of * promised_percent, "a floor keeps what is promised");
        Self { group, met, of }
    }
}

const FEEDPARSER_CORE: Floor = Floor::new("feedparser, core without sanitising", 457, 468, 95);
// Not 385, as it was once: one text is expected with `<pre class="screen">`, and no class of a feed's is kept any more.
const FEEDPARSER_UNFLAGGED: Floor = Floor::new("feedparser, core without sanitising and without flags", 384, 394, 97);
const FEEDPARSER_SAFE: Floor = Floor::new("feedparser, safe", 379, 379, 100);
const GOFEED_CORE: Floor = Floor::new("gofeed, core", 72, 79, 85);

/// Files that may give no feed at all, in either half.
const FILES_IN_ERROR_MAX: usize = 0;

/// What is shown of a value in a message.
const SHOWN_CHARS_MAX: usize = 300;

/// Requirement F2: what feedparser's tests expect of titles, links, dates, authors, encodings, entities and the rest.
#[test]
fn f2_feedparser_corpus_holds_its_floors() {
    let Some(scored) = Scored::of("feedparser") else { return };
    scored.hold(&[
        (&FEEDPARSER_CORE, is_core),
        (&FEEDPARSER_UNFLAGGED, |expectation| is_core(expectation) && expectation.flags.is_empty()),
    ]);
}

/// Requirement F2: the same of gofeed's.
#[test]
fn f2_gofeed_corpus_holds_its_floors() {
    let Some(scored) = Scored::of("gofeed") else { return };
    scored.hold(&[(&GOFEED_CORE, is_core)]);
}

/// Requirement F3: no text of the corpus is active once it has been sanitised.
#[test]
fn f3_every_text_of_the_corpus_is_safe() {
    let Some(scored) = Scored::of("feedparser") else { return };
    scored.hold(&[(&FEEDPARSER_SAFE, |expectation| expectation.op == Op::Safe)]);
}

/// The rest is beyond the model, or one sanitiser's taste.
fn is_core(expectation: &Expectation) -> bool {
    expectation.tier == "core" && !expectation.cat.starts_with("sanitize")
}

/// One half of the corpus, parsed and judged.
struct Scored {
    outcomes: Vec<Outcome>,
    errors: Vec<String>,
}

/// An expectation and what became of it.
struct Outcome {
    expectation: Expectation,
    /// Where it is not met: what there is instead.
    missed: Option<String>,
}

/// A line of `files.jsonl`.
#[derive(Deserialize)]
struct Listed {
    file: String,
    url: Option<String>,
    #[serde(default)]
    headers: HashMap<String, String>,
}

impl Scored {
    /// Nothing where the corpus is not given.
    fn of(half: &str) -> Option<Self> {
        let Some(folder) = std::env::var_os("PIRSSONITE_CORPUS").map(PathBuf::from) else {
            println!("PIRSSONITE_CORPUS is not given: the corpus of {half} was not read");
            return None;
        };
        let folder = folder.join(half);
        let mut models = HashMap::new();
        let mut errors = Vec::new();
        for listed in lines::<Listed>(&folder.join("files.jsonl")) {
            let bytes = std::fs::read(folder.join("feeds").join(&listed.file)).expect("the corpus holds its feeds");
            let model = model(&bytes, &listed);
            errors.extend(model.as_ref().err().map(|error| format!("{}: {error}", listed.file)));
            models.insert(listed.file, model);
        }
        let expectations = lines::<Expectation>(&folder.join("expectations.jsonl"));
        let outcomes = expectations.into_iter().map(|expectation| {
            let model = models.get(&expectation.file).expect("an expectation is of a listed file");
            Outcome::of(expectation, model)
        });
        Some(Self { outcomes: outcomes.collect(), errors })
    }

    /// Tells how every group does, and fails where one is below its floor or too many files are in error.
    fn hold(&self, groups: &[(&Floor, Group)]) {
        let mut faults: Vec<String> = groups.iter().filter_map(|&(floor, group)| self.fault(floor, group)).collect();
        if self.errors.len() > FILES_IN_ERROR_MAX {
            faults.push(format!("{} files in error:\n{}", self.errors.len(), self.errors.join("\n")));
        }
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    }

    fn fault(&self, floor: &Floor, is_in: Group) -> Option<String> {
        let outcomes: Vec<&Outcome> = self.outcomes.iter().filter(|outcome| is_in(&outcome.expectation)).collect();
        let missed: Vec<String> = outcomes.iter().filter_map(|outcome| outcome.fault()).collect();
        let (met, of) = (outcomes.len() - missed.len(), outcomes.len());
        let report = format!("{}: {met} of {of}, the floor is {} of {}", floor.group, floor.met, floor.of);
        if met < floor.met || of != floor.of {
            return Some(format!("{report}; missed:\n{}", missed.join("\n")));
        }
        let advice = if met > floor.met { "; the floor can be raised" } else { "" };
        println!("{report}{advice}\n{}", missed.join("\n"));
        None
    }
}

impl Outcome {
    fn of(expectation: Expectation, model: &Result<Value, feed::Error>) -> Self {
        let missed = match model {
            Ok(model) if is_met(&expectation, model) => None,
            Ok(model) => Some(found(&expectation.path, model).to_string()),
            Err(error) => Some(error.to_string()),
        };
        Self { expectation, missed }
    }

    fn fault(&self) -> Option<String> {
        let Expectation { file, path, op, value, .. } = &self.expectation;
        let got = self.missed.as_ref()?;
        Some(format!("{file}: {path} {op:?}: wanted {}, got {}", cut(&value.to_string()), cut(got)))
    }
}

fn found(path: &str, model: &Value) -> Value {
    Path::of(path).find(model).into_iter().cloned().collect()
}

/// What `pirssonite parse --jsonl` prints of a file.
fn model(bytes: &[u8], listed: &Listed) -> Result<Value, feed::Error> {
    let header = |wanted: &str| {
        listed.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
    };
    let hints = Hints {
        content_type: header("content-type"),
        url: listed.url.as_deref(),
        base: header("content-location"),
        ..Hints::default()
    };
    let mut feed = feed::parse(bytes, &hints)?;
    feed.head.sanitise();
    feed.entries.iter_mut().for_each(feed::Entry::sanitise);
    Ok(serde_json::to_value(&feed).expect("a feed is JSON"))
}

fn lines<T: DeserializeOwned>(list: &std::path::Path) -> Vec<T> {
    let text = std::fs::read_to_string(list).expect("the corpus holds its lists");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the corpus is as its README says")).collect()
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
