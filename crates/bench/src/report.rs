//! What a measurement prints: tables of aligned columns, a rating on every row that has a limit.

use std::process::ExitCode;

/// Whether a row keeps its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rating {
    Ok,
    Missed,
    /// There to compare with, or to know.
    None,
}

impl Rating {
    pub(crate) fn of(kept: bool) -> Self {
        if kept { Self::Ok } else { Self::Missed }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missed => "MISSED",
            Self::None => "",
        }
    }
}

/// How many rows of a run have a limit, and how many missed it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    limited: usize,
    missed: usize,
}

impl Tally {
    /// Says how the run went.
    pub(crate) fn conclude(&self) -> ExitCode {
        if self.limited > 0 {
            println!("\n{} of {} limits kept", self.limited - self.missed, self.limited);
        }
        if self.missed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Rows with their first column to the left and the others to the right, the rating behind them, and a remark last.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    head: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    cells: Vec<String>,
    rating: Rating,
    remark: String,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, head: &[&str]) -> Self {
        Self { title: title.into(), head: head.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: &[String], rating: Rating, remark: impl Into<String>) {
        self.rows.push(Row { cells: cells.to_vec(), rating, remark: remark.into() });
    }

    pub(crate) fn print_unless_empty(&self, tally: &mut Tally) {
        if !self.rows.is_empty() {
            self.print(tally);
        }
    }

    pub(crate) fn print(&self, tally: &mut Tally) {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
                cells.chain(self.head.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        println!("\n{}\n", self.title);
        println!("{}", aligned(&self.head, &widths));
        for row in &self.rows {
            tally.limited += usize::from(row.rating != Rating::None);
            tally.missed += usize::from(row.rating == Rating::Missed);
            let line = format!("{}  {:6}  {}", aligned(&row.cells, &widths), row.rating.label(), row.remark);
            println!("{}", line.trim_end());
        }
    }
}

fn aligned(cells: &[String], widths: &[usize]) -> String {
    let pad = |(column, (cell, width)): (usize, (&String, &usize))| {
        if column == 0 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
    };
    cells.iter().zip(widths).enumerate().map(pad).collect::<Vec<_>>().join("  ")
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
pub(crate) fn mb(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
pub(crate) fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
