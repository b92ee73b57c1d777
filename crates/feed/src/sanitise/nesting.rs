//! Where an element may stand. A browser moves what stands where it may not: it closes a table inside a table, puts
//! text that is between two rows before the table, and leaves a formula at the first paragraph. The end tag of what was
//! moved or closed then closes something else, at worst the box that the page shows the entry in. Here the same is
//! decided first, and written down: every end tag that comes out finds the element it was written for on top.

use super::{
    Last, Sanitiser,
    ends::implied_end_sets,
    is_control,
    policy::{
        HEADINGS, Kept, LIST_ITEMS, MATH_TOKENS, MATHML, PARAGRAPH, RUBY_PARTS, TABLE_FRAMES, TABLE_PARTS,
        TABLE_SECTIONS,
    },
};
use crate::limits::HTML_DEPTH_MAX;

/// What may have to be opened in a table for a text to stand in it: a section, a row and a cell.
const TABLE_DEPTH: usize = 3;

impl Sanitiser<'_> {
    /// Closes what cannot be open around this element, and opens what must be; false if it can stand nowhere here.
    pub(super) fn make_way(&mut self, kept: Kept) -> bool {
        if kept.is_in(MATHML) && kept != Kept::MATH {
            return self.is_open(Kept::MATH.set()) && self.end_token();
        }
        if self.is_open(Kept::MATH.set()) && !self.leave_math(kept) {
            return false;
        }
        if kept.is_in(TABLE_PARTS) {
            return self.enter_table(kept);
        }
        if kept == Kept::TABLE && self.is_top(TABLE_FRAMES) {
            // A table between the cells of another ends it.
            self.close_to(self.place_of(Kept::TABLE.set()).unwrap_or_default());
        }
        self.enter_cell();
        self.imply_ends(implied_end_sets(kept));
        if kept.is_in(LIST_ITEMS) {
            self.imply_ends(implied_end_sets(Kept::P));
        }
        if kept.is_in(HEADINGS) && self.is_top(HEADINGS) {
            self.close_to(self.open.len() - 1);
        }
        while kept.is_in(RUBY_PARTS)
            && self.is_open(Kept::RUBY.set())
            && self.is_top(RUBY_PARTS | LIST_ITEMS | PARAGRAPH)
        {
            self.close_to(self.open.len() - 1);
        }
        true
    }

    /// Whether there is no room for this element and what may have to stand in it.
    pub(super) fn is_full(&self, kept: Kept) -> bool {
        let inside = if kept == Kept::TABLE { TABLE_DEPTH } else { 0 };
        // Parts of a table have their room since it began.
        let reserved = if kept.is_in(TABLE_PARTS) { TABLE_DEPTH } else { 0 };
        self.overflow > 0 || self.open.len() + inside >= HTML_DEPTH_MAX + reserved
    }

    /// Writes a text where texts may stand.
    pub(super) fn write_text(&mut self, text: &str) {
        let is_blank = text.bytes().all(|byte| byte.is_ascii_whitespace() || is_control(byte));
        if is_blank {
            self.escape(text);
            return;
        }
        self.enter_cell();
        let is_loose = self.is_open(Kept::MATH.set()) && !self.is_top(MATH_TOKENS);
        if is_loose {
            self.separate();
            self.open(Kept::MTEXT);
        }
        self.escape(text);
        self.last = Last::Text;
        self.shown += 1;
        if is_loose {
            self.close_to(self.open.len() - 1);
        }
    }

    pub(super) fn end_kept(&mut self, kept: Kept) {
        // What stood in a formula and is no part of it was left out, so its end is nobody's.
        if self.is_open(Kept::MATH.set()) && !kept.is_in(MATHML) && !ends_math(kept) {
            return;
        }
        if self.overflow > 0 {
            self.overflow -= 1;
            return;
        }
        if !self.is_open(kept.set()) {
            return;
        }
        if let Some(found) = self.place_of(kept.set()) {
            self.close_to(found);
        }
    }

    /// Writes a start tag without attributes.
    pub(super) fn open(&mut self, kept: Kept) {
        self.out.push('<');
        self.out.push_str(kept.name());
        self.out.push('>');
        self.opened(kept);
    }

    /// Notes that a start tag was written.
    pub(super) fn opened(&mut self, kept: Kept) {
        self.open.push(kept);
        self.counts[kept.index()] += 1;
        self.set |= kept.set();
    }

    pub(super) fn close_to(&mut self, length: usize) {
        while self.open.len() > length {
            self.close_fence();
            let Some(kept) = self.open.pop() else { break };
            self.counts[kept.index()] -= 1;
            if self.counts[kept.index()] == 0 {
                self.set &= !kept.set();
            }
            self.out.push_str("</");
            self.out.push_str(kept.name());
            self.out.push('>');
            if kept == Kept::MATH {
                self.last = Last::Math;
            }
            self.note_preview_end();
        }
    }

    fn imply_ends(&mut self, (ended, bounds): (u128, u128)) {
        while self.is_open(ended)
            && let Some(found) = self.place_of(ended | bounds)
            && self.open[found].is_in(ended)
        {
            self.close_to(found);
        }
    }

    /// Text and all that is no part of a table stand in a cell, should nobody have opened one.
    fn enter_cell(&mut self) {
        if self.is_top(TABLE_FRAMES) {
            self.enter_table(Kept::TD);
            self.open(Kept::TD);
        }
    }

    /// Makes way for a part of the innermost table; false if there is none.
    fn enter_table(&mut self, part: Kept) -> bool {
        if !self.is_open(Kept::TABLE.set()) {
            return false;
        }
        let Some(table) = self.place_of(Kept::TABLE.set()) else { return false };
        let stands_at = |at: usize, set| self.open.get(at).is_some_and(|open| open.is_in(set));
        let inside = table + 1;
        let in_section = inside + usize::from(stands_at(inside, TABLE_SECTIONS));
        match part {
            Kept::COL if stands_at(inside, Kept::COLGROUP.set()) => self.close_to(inside + 1),
            Kept::TR => self.close_to(in_section),
            Kept::TD | Kept::TH if stands_at(in_section, Kept::TR.set()) => self.close_to(in_section + 1),
            Kept::TD | Kept::TH => {
                self.close_to(in_section);
                self.open(Kept::TR);
            }
            _ => self.close_to(inside),
        }
        true
    }

    /// Ends the formula at a block, as browsers do; false for what is left out of it.
    fn leave_math(&mut self, kept: Kept) -> bool {
        if !ends_math(kept) {
            return false;
        }
        self.close_to(self.place_of(Kept::MATH.set()).unwrap_or_default());
        true
    }

    /// Ends a token of a formula (`<mi>`), which holds nothing but text.
    fn end_token(&mut self) -> bool {
        if self.is_top(MATH_TOKENS) {
            self.close_to(self.open.len() - 1);
        }
        true
    }

    pub(super) fn is_open(&self, set: u128) -> bool {
        self.set & set != 0
    }

    fn is_top(&self, set: u128) -> bool {
        self.open.last().is_some_and(|top| top.is_in(set))
    }

    /// Where the innermost of a set is open.
    fn place_of(&self, set: u128) -> Option<usize> {
        self.open.iter().rposition(|open| open.is_in(set))
    }
}

/// Whether a formula that was left open ends here: at a block, a list item, a cell.
fn ends_math(kept: Kept) -> bool {
    kept.is_in(TABLE_PARTS) || implied_end_sets(kept).0 != 0 && kept != Kept::A
}
