//! Where an expectation looks in the model: `entries[0].links[1].href`.

use serde_json::Value;

/// A path of the corpus, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Path<'a>(Vec<Step<'a>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) fn of(path: &'a str) -> Self {
        let pieces = path.split(['.', '[']).filter(|piece| !piece.is_empty());
        Self(pieces.map(Step::of).collect())
    }

    /// The field that it is about: that of the entry or of the head which it goes through.
    pub(super) fn field(&self) -> Option<&'a str> {
        let at = match self.0.as_slice() {
            [Step::Key("entries"), _, _, ..] => 2,
            [_, _, ..] => 1,
            _ => 0,
        };
        self.0.get(at).and_then(|step| step.key())
    }

    /// Its last step, unless that is an index.
    pub(super) fn key(&self) -> Option<&'a str> {
        self.0.last().and_then(|step| step.key())
    }

    /// The same place, but for its last step.
    pub(super) fn beside(&self, key: &'a str) -> Self {
        self.up_to(self.0.len().saturating_sub(1), key)
    }

    /// Another field of the same entry.
    pub(super) fn of_entry(&self, key: &'a str) -> Self {
        self.up_to(self.0.len().min(2), key)
    }

    fn up_to(&self, steps: usize, key: &'a str) -> Self {
        let mut path = self.0[..steps].to_vec();
        path.push(Step::Key(key));
        Self(path)
    }

    /// All values that may be meant. An index into the entries is exact; of other lists every element is a candidate,
    /// because their order is the parser's business.
    pub(super) fn find<'m>(&self, model: &'m Value) -> Vec<&'m Value> {
        let mut found = vec![model];
        let mut before = None;
        for &step in &self.0 {
            let exact = before == Some(Step::Key("entries"));
            found = found.into_iter().flat_map(|value| step.from(value, exact)).collect();
            before = Some(step);
        }
        found
    }
}

impl<'a> Step<'a> {
    fn of(piece: &'a str) -> Self {
        match piece.strip_suffix(']') {
            Some(index) => Self::Index(index.parse().expect("an index of the corpus is a number")),
            None => Self::Key(piece),
        }
    }

    fn key(self) -> Option<&'a str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Index(_) => None,
        }
    }

    fn from(self, value: &Value, exact: bool) -> Vec<&Value> {
        match (self, value) {
            (Self::Index(index), Value::Array(items)) if exact => items.get(index).into_iter().collect(),
            (Self::Index(_), Value::Array(items)) => items.iter().collect(),
            (Self::Key(key), Value::Object(_)) => child(value, key).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// What an object has under a key. One author stands for the first of several.
fn child<'m>(object: &'m Value, key: &str) -> Option<&'m Value> {
    let own = object.get(key);
    if key == "author" && own.is_none_or(Value::is_null) {
        return object.get("authors").and_then(|authors| authors.get(0)).or(own);
    }
    own
}
