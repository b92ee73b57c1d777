//! Blocks of text with what stands before their lines: the mark of a list's item, the sign of a quote, the blanks of code.

use crate::screen::{is_reordering, wrap};

/// Lists and quotes within each other that are indented; those deeper are as deep as the last.
const DEPTH_MAX: usize = 6;

/// Cells of text that a line keeps, however deep it is.
const CELLS_MIN: usize = 8;

const CODE_INDENT: &str = "    ";

#[derive(Default)]
pub(super) struct Layout {
    blocks: Vec<Block>,
    /// The block that is being written.
    text: String,
    heading: Option<usize>,
    inner: Vec<Container>,
    is_code: bool,
    /// Whether the block that is being written is a row of a table.
    is_row: bool,
}

struct Block {
    first: String,
    others: String,
    text: String,
    is_code: bool,
    /// No blank line stands before it if the one before is of the same kind: an item's first block, a row.
    tight: Spacing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spacing {
    No,
    Item,
    Row,
}

/// What a block can be in.
enum Container {
    Quote,
    Indent,
    /// Counted from here, or not at all.
    List(Option<i64>),
    /// With its mark, until that is written.
    Item {
        mark: String,
        is_marked: bool,
    },
}

impl Layout {
    /// Adds to the text of the block. White space counts once, but in code.
    pub(super) fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' if self.is_code => self.text.push('\n'),
                '\t' if self.is_code => self.text.push_str(CODE_INDENT),
                ' ' if self.is_code => self.text.push(' '),
                // A blank that does not break stays one.
                c if c.is_whitespace() && c != '\u{a0}' => {
                    if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                        self.text.push(' ');
                    }
                }
                c if c.is_control() || is_reordering(c) => {}
                c => self.text.push(c),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text since a place in this block; none if another block has begun since.
    pub(super) fn since(&self, begin: usize) -> Option<&str> {
        self.text.get(begin..).map(str::trim)
    }

    pub(super) fn replace_since(&mut self, begin: usize, with: &str) {
        self.text.truncate(begin);
        self.text.push_str(with);
    }

    pub(super) fn line_break(&mut self) {
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        self.text.push('\n');
    }

    pub(super) fn tick(&mut self) {
        if !self.is_code {
            self.text.push('`');
        }
    }

    /// Begins a cell of a table.
    pub(super) fn cell(&mut self) {
        if !self.text.trim().is_empty() {
            self.text("\u{20}|\u{20}");
        }
        self.is_row = true;
    }

    pub(super) fn heading(&mut self, level: usize) {
        self.end_block();
        self.heading = Some(level);
    }

    pub(super) fn rule(&mut self) {
        self.end_block();
        self.text.push_str("---");
        self.end_block();
    }

    pub(super) fn open_list(&mut self, from: Option<i64>) {
        self.end_block();
        self.inner.push(Container::List(from));
    }

    pub(super) fn open_item(&mut self) {
        self.end_block();
        // An item that was not closed ends where the next begins.
        if matches!(self.inner.last(), Some(Container::Item { .. })) {
            self.inner.pop();
        }
        let mark = match self.inner.last_mut() {
            Some(Container::List(Some(number))) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "- ".to_owned(),
        };
        self.inner.push(Container::Item { mark, is_marked: false });
    }

    pub(super) fn open_quote(&mut self) {
        self.end_block();
        self.inner.push(Container::Quote);
    }

    pub(super) fn open_indent(&mut self) {
        self.end_block();
        self.inner.push(Container::Indent);
    }

    /// Ends an item, a quote or the like.
    pub(super) fn close_inner(&mut self) {
        self.end_block();
        if matches!(self.inner.last(), Some(Container::Item { .. } | Container::Quote | Container::Indent)) {
            self.inner.pop();
        }
    }

    pub(super) fn close_list(&mut self) {
        self.close_inner();
        if matches!(self.inner.last(), Some(Container::List(_))) {
            self.inner.pop();
        }
    }

    pub(super) fn open_code(&mut self) {
        self.end_block();
        self.is_code = true;
    }

    pub(super) fn close_code(&mut self) {
        self.end_block();
        self.is_code = false;
    }

    pub(super) fn end_block(&mut self) {
        let text = std::mem::take(&mut self.text);
        let (is_row, heading) = (std::mem::take(&mut self.is_row), self.heading.take());
        let text = if self.is_code { text.trim_matches('\n').trim_end() } else { text.trim() };
        if text.is_empty() {
            self.heading = heading;
            return;
        }
        let (first, others, is_item) = self.prefixes();
        let first = format!("{first}{}", heading.map(|level| format!("{} ", "#".repeat(level))).unwrap_or_default());
        let tight = if is_item {
            Spacing::Item
        } else if is_row {
            Spacing::Row
        } else {
            Spacing::No
        };
        self.blocks.push(Block { first, others, text: text.to_owned(), is_code: self.is_code, tight });
    }

    /// What stands before the first line of a block and before its others, and whether that marks an item.
    fn prefixes(&mut self) -> (String, String, bool) {
        let (mut first, mut others, mut is_item) = (String::new(), String::new(), false);
        let indented = self.inner.iter_mut().filter(|inner| !matches!(inner, Container::List(_)));
        for inner in indented.take(DEPTH_MAX) {
            let (mark, rest) = match inner {
                Container::Quote => ("> ".to_owned(), "> ".to_owned()),
                Container::Indent | Container::List(_) => ("  ".to_owned(), "  ".to_owned()),
                Container::Item { mark, is_marked } => {
                    let blanks = " ".repeat(mark.len());
                    let is_first = !std::mem::replace(is_marked, true);
                    is_item |= is_first;
                    (if is_first { mark.clone() } else { blanks.clone() }, blanks)
                }
            };
            first.push_str(&mark);
            others.push_str(&rest);
        }
        (first, others, is_item)
    }

    /// The lines of all blocks, with a blank line between two.
    pub(super) fn finish(mut self, cells: Option<usize>) -> Vec<String> {
        self.end_block();
        let mut lines = Vec::new();
        let mut before = None;
        for block in self.blocks {
            let is_tight = block.tight != Spacing::No && before == Some(block.tight);
            if before.is_some() && !is_tight {
                lines.push(String::new());
            }
            before = Some(block.tight);
            block.push_lines(&mut lines, cells);
        }
        lines
    }
}

impl Block {
    fn push_lines(&self, lines: &mut Vec<String>, cells: Option<usize>) {
        let width = cells.map(|cells| cells.saturating_sub(self.first.len()).max(CELLS_MIN));
        let text: Vec<String> = match width {
            _ if self.is_code => self.text.split('\n').map(|line| format!("{CODE_INDENT}{line}")).collect(),
            Some(width) => wrap(&self.text, width),
            None => self.text.split('\n').map(|line| line.trim().to_owned()).collect(),
        };
        for (number, line) in text.iter().enumerate() {
            let before = if number == 0 { &self.first } else { &self.others };
            lines.push(format!("{before}{line}").trim_end().to_owned());
        }
    }
}
