//! Mends JSON that is nearly JSON: raw line ends in strings, commas before a closing bracket, and documents that end in
//! the middle, which are cut back to their last whole value and closed.

pub(super) struct Repaired {
    pub(super) text: String,
    /// The document ended in the middle.
    pub(super) truncated: bool,
    /// It did so inside an item, of which a part is kept.
    pub(super) cut_in_item: bool,
}

/// The brackets that are open between two items: the document's and the list's.
const OPEN_BETWEEN_ITEMS: usize = 2;

/// Mends what can be mended, in one pass.
pub(super) fn repair(source: &str) -> Repaired {
    let mut mender = Mender { text: String::with_capacity(source.len() + 16), open: Vec::new(), whole: (0, 0) };
    let mut in_string = false;
    let mut escaped = false;
    for c in source.chars() {
        if in_string {
            (in_string, escaped) = mender.in_string(c, escaped);
            continue;
        }
        match c {
            '"' => in_string = true,
            '{' | '[' => mender.open.push(if c == '{' { '}' } else { ']' }),
            '}' | ']' if mender.open.last() != Some(&c) => continue,
            '}' | ']' => {
                mender.drop_trailing_comma();
                mender.open.pop();
            }
            _ => {}
        }
        mender.text.push(c);
        if matches!(c, '}' | ']') {
            mender.mark_whole();
        }
        if c == '}' && mender.open.is_empty() {
            // What stands behind the document is no part of it.
            return Repaired { text: mender.text, truncated: false, cut_in_item: false };
        }
    }
    mender.close()
}

struct Mender {
    text: String,
    /// The brackets that will close what is open.
    open: Vec<char>,
    /// Where the last whole object or list ended: the length of the text, and how many brackets were open.
    whole: (usize, usize),
}

impl Mender {
    /// One character inside a string; returns whether it goes on, and whether the next character is escaped.
    fn in_string(&mut self, c: char, escaped: bool) -> (bool, bool) {
        match c {
            '\n' => self.text.push_str("\\n"),
            '\r' => self.text.push_str("\\r"),
            '\t' => self.text.push_str("\\t"),
            c if c < ' ' => {}
            c => self.text.push(c),
        }
        (escaped || c != '"', c == '\\' && !escaped)
    }

    fn drop_trailing_comma(&mut self) {
        let trimmed = self.text.trim_end();
        if let Some(without) = trimmed.strip_suffix(',') {
            self.text.truncate(without.len());
        }
    }

    fn mark_whole(&mut self) {
        self.whole = (self.text.len(), self.open.len());
    }

    /// Cuts back to the last whole value and closes what was open around it.
    fn close(mut self) -> Repaired {
        let (length, open) = self.whole;
        self.text.truncate(length);
        // Outer brackets are the first ones, whatever was opened after the cut.
        let closing: Vec<char> = self.open.iter().take(open).rev().copied().collect();
        self.text.extend(closing);
        Repaired { text: self.text, truncated: true, cut_in_item: open > OPEN_BETWEEN_ITEMS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f2_repairs_malformed_json() {
        for (source, expect, truncated) in [
            ("{\"a\": [1, 2,], }", "{\"a\": [1, 2]}", false),
            ("{\"a\": \"x\ny\"}", "{\"a\": \"x\\ny\"}", false),
            ("{\"a\": \"x\\\"}\"} trailing", "{\"a\": \"x\\\"}\"}", false),
            ("{\"items\": [{\"id\": 1}, {\"id\"", "{\"items\": [{\"id\": 1}]}", true),
            (
                "{\"items\": [{\"id\": 1, \"t\": [1]}, {\"id\": 2, \"t\": [2], \"c\": \"",
                "{\"items\": [{\"id\": 1, \"t\": [1]}, {\"id\": 2, \"t\": [2]}]}",
                true,
            ),
        ] {
            let repaired = repair(source);
            assert_eq!((repaired.text.as_str(), repaired.truncated), (expect, truncated), "{source}");
        }
    }
}
