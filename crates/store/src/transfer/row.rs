//! Rows on their way from one database to another: in values that both stores have, gathered into batches, and summed up.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Rows and bytes of a batch, at most, but for a single row that is larger.
const BATCH_ROWS_MAX: usize = 1_000;
const BATCH_BYTES_MAX: usize = 512 * 1024;

/// A value as both stores have it. What is true or false is 1 or 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

pub(crate) type Row = Vec<Value>;

impl Value {
    fn size(&self) -> usize {
        let held = match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        };
        size_of::<Self>() + held
    }

    fn hash(&self, hasher: &mut DefaultHasher) {
        match self {
            Self::Null => 0u8.hash(hasher),
            Self::Integer(number) => (1u8, number).hash(hasher),
            Self::Real(number) => (2u8, number.to_bits()).hash(hasher),
            Self::Text(text) => (3u8, text).hash(hasher),
            Self::Bytes(bytes) => (4u8, bytes).hash(hasher),
        }
    }
}

/// Rows until they are enough to be handed on together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    rows: Vec<Row>,
    bytes: usize,
}

impl Batch {
    /// Adds a row; all that were gathered if they are enough now.
    pub(crate) fn add(&mut self, row: Row) -> Option<Vec<Row>> {
        self.bytes += row.iter().map(Value::size).sum::<usize>();
        self.rows.push(row);
        (self.rows.len() >= BATCH_ROWS_MAX || self.bytes >= BATCH_BYTES_MAX).then(|| self.take())
    }

    pub(crate) fn take(&mut self) -> Vec<Row> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

/// What a table holds, as far as two of them can be compared: how many rows, and a checksum over all values, in whatever
/// order they were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableSum {
    pub rows: u64,
    pub checksum: u64,
}

impl TableSum {
    pub(crate) fn add(&mut self, rows: &[Row]) {
        for row in rows {
            let mut hasher = DefaultHasher::new();
            for value in row {
                value.hash(&mut hasher);
            }
            self.checksum = self.checksum.wrapping_add(hasher.finish());
        }
        self.rows += rows.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(rows: &[Row]) -> TableSum {
        let mut sum = TableSum::default();
        sum.add(rows);
        sum
    }

    #[test]
    fn p4_sum_knows_values_and_not_their_order() {
        let row = |text: &str| vec![Value::Integer(1), Value::Text(text.to_owned())];
        assert_eq!(sum(&[row("a"), row("b")]), sum(&[row("b"), row("a")]));
        assert_ne!(sum(&[row("a"), row("a")]), sum(&[row("b"), row("b")]));
        assert_ne!(sum(&[row("a"), row("a")]), sum(&[row("a")]));
        assert_ne!(sum(&[vec![Value::Null]]), sum(&[vec![Value::Integer(0)]]));
        assert_ne!(sum(&[vec![Value::Text("a".into())]]), sum(&[vec![Value::Bytes(b"a".into())]]));
    }

    #[test]
    fn p4_batches_are_bounded() {
        let mut batch = Batch::default();
        let large = || vec![Value::Text("x".repeat(BATCH_BYTES_MAX))];
        assert_eq!(batch.add(large()).map(|rows| rows.len()), Some(1));
        let full = (0..BATCH_ROWS_MAX).find_map(|_| batch.add(vec![Value::Null]));
        assert_eq!(full.map(|rows| rows.len()), Some(BATCH_ROWS_MAX));
        assert!(batch.take().is_empty());
    }
}
