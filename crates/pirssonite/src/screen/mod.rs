//! What is printed for people: how wide it is, where its lines end, and what of it never reaches a terminal.
//!
//! Widths are counted in cells: a Chinese character takes two, an accent that is written apart none. What goes into a
//! pipe or a file is never cut or wrapped.

mod cells;
mod table;
mod wrap;

use std::{io::IsTerminal, os::fd::AsFd};

pub(crate) use self::{
    cells::{clean, escape_controls, is_reordering},
    table::{Column, table},
    wrap::wrap,
};

/// Columns of text that are read with ease; wider terminals are not filled.
const TEXT_CELLS_MAX: usize = 88;

/// A terminal narrower than this is treated as if it were so wide.
const CELLS_MIN: usize = 20;

/// Where standard output goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    cells: Option<usize>,
}

impl Screen {
    /// Standard output as it is now.
    pub(crate) fn of_stdout() -> Self {
        Self::behind(&std::io::stdout())
    }

    /// Standard error as it is now.
    pub(crate) fn of_stderr() -> Self {
        Self::behind(&std::io::stderr())
    }

    fn behind(stream: &(impl IsTerminal + AsFd)) -> Self {
        if !stream.is_terminal() {
            return Self { cells: None };
        }
        // A terminal that does not say how wide it is has 80 columns, as the first had.
        let cells = terminal_size::terminal_size_of(stream).map_or(80, |(width, _)| usize::from(width.0));
        Self { cells: Some(cells.max(CELLS_MIN)) }
    }

    /// A terminal of this width, or none.
    #[cfg(test)]
    pub(crate) fn of(cells: Option<usize>) -> Self {
        Self { cells }
    }

    pub(crate) fn is_terminal(self) -> bool {
        self.cells.is_some()
    }

    /// Cells in a line; none for a pipe, whose lines have no end.
    pub(crate) fn cells(self) -> Option<usize> {
        self.cells
    }

    /// A text under a label, its further lines below the first: wrapped at words on a terminal, one line elsewhere.
    pub(crate) fn labelled(self, label: &str, text: &str) -> String {
        let Some(cells) = self.cells else { return format!("{label}{text}") };
        let indent = cells::width(label);
        let lines = wrap(text, cells.saturating_sub(indent).max(CELLS_MIN));
        format!("{label}{}", lines.join(&format!("\n{}", " ".repeat(indent))))
    }

    /// The width of running text.
    pub(crate) fn text_cells(self) -> Option<usize> {
        self.cells.map(|cells| cells.min(TEXT_CELLS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_long_lines_wrap_below_their_label() {
        let text = "none is running; `pirssonite` starts one";
        assert_eq!(Screen::of(None).labelled("ok     server    ", text), format!("ok     server    {text}"));
        assert_eq!(
            Screen::of(Some(38)).labelled("ok     server    ", text),
            "ok     server    none is running;\n                 `pirssonite` starts\n                 one"
        );
    }
}
