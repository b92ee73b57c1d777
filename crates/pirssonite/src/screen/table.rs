//! Rows in columns.

use super::{
    Screen,
    cells::{clean, cut, padded, width},
};

const GAP: &str = "  ";

/// Cells that a column keeps, however narrow the terminal is.
const COLUMN_CELLS_MIN: usize = 4;

/// Cells that a value of a column is filled up to in a pipe; a longer one moves those after it.
const PIPE_CELLS_MAX: usize = 48;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) heading: &'static str,
    pub(crate) is_number: bool,
    /// Whether its values may be cut where the terminal is too narrow for all.
    pub(crate) may_be_cut: bool,
}

impl Column {
    pub(crate) const fn number(heading: &'static str) -> Self {
        Self { heading, is_number: true, may_be_cut: false }
    }

    pub(crate) const fn text(heading: &'static str) -> Self {
        Self { heading, is_number: false, may_be_cut: true }
    }

    pub(crate) const fn short(heading: &'static str) -> Self {
        Self { heading, is_number: false, may_be_cut: false }
    }
}

/// The lines of a table, a line for each row. On a terminal they have headings and fit its width; elsewhere they hold
/// nothing but the rows, in full. Columns without any value are left out.
pub(crate) fn table(columns: &[Column], rows: &[Vec<String>], screen: Screen) -> (Option<String>, Vec<String>) {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|text| clean(text)).collect()).collect();
    let is_used = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let used: Vec<usize> = (0..columns.len()).filter(is_used).collect();
    let widest = |column: &usize| {
        let heading = if screen.is_terminal() { width(columns[*column].heading) } else { 0 };
        rows.iter().map(|row| width(&row[*column])).max().unwrap_or_default().max(heading)
    };
    let mut widths: Vec<usize> = used.iter().map(widest).collect();
    if let Some(cells) = screen.cells() {
        let may_be_cut: Vec<bool> = used.iter().map(|column| columns[*column].may_be_cut).collect();
        shrink(&mut widths, &may_be_cut, cells);
    } else {
        for cells in &mut widths {
            *cells = (*cells).min(PIPE_CELLS_MAX);
        }
    }
    let line = |row: &dyn Fn(usize) -> String| {
        let values = used.iter().zip(&widths).map(|(column, cells)| {
            let text = row(*column);
            let text = if screen.is_terminal() { cut(&text, *cells).into_owned() } else { text };
            padded(&text, *cells, columns[*column].is_number)
        });
        values.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    let heading = screen.is_terminal().then(|| line(&|column| columns[column].heading.to_owned()));
    (heading, rows.iter().map(|row| line(&|column| row[column].clone())).collect())
}

/// Takes from the widest of the columns that may be cut until all fit.
fn shrink(widths: &mut [usize], may_be_cut: &[bool], cells: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > cells {
        let widest = (0..widths.len()).filter(|at| may_be_cut[*at]).max_by_key(|at| widths[*at]);
        match widest {
            Some(at) if widths[at] > COLUMN_CELLS_MIN => widths[at] -= 1,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] =
        [Column::number("ID"), Column::text("TITLE"), Column::text("FOLDER"), Column::short("STATE")];

    fn rows(rows: &[[&str; 4]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect()
    }

    #[test]
    fn u5_columns_fit_the_terminal() {
        let all = rows(&[["1", "日本語", "", "pushed"], ["12", "A long title\n of a feed", "", ""]]);
        let (heading, lines) = table(&COLUMNS, &all, Screen::of(Some(80)));
        assert_eq!(heading.as_deref(), Some("ID  TITLE                   STATE"), "an empty column is left out");
        assert_eq!(lines, [" 1  日本語                  pushed", "12  A long title of a feed"]);
        let (_, narrow) = table(&COLUMNS, &all, Screen::of(Some(24)));
        assert_eq!(narrow, [" 1  日本語        pushed", "12  A long titl…"]);
    }

    #[test]
    fn u5_pipes_get_whole_text_without_headings() {
        let long = "x".repeat(70);
        let (heading, lines) =
            table(&COLUMNS, &rows(&[["1", &long, "Daily", ""], ["2", "b", "", "gone"]]), Screen::of(None));
        assert_eq!(heading, None);
        assert_eq!(lines[0], format!("1  {long}  Daily"));
        assert_eq!(lines[1], format!("2  b{}         gone", " ".repeat(PIPE_CELLS_MAX - 1)));
    }
}
