//! Where a page of entries ended. Opaque to clients: they send back what they were given.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::ids::EntryId;

/// The last entry of a page. The next page holds what sorts after it, however many entries came in since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The entry's `sortAt`.
    pub sort_at: Timestamp,
    /// The entry itself, for those with the same time.
    pub id: EntryId,
}

impl Cursor {
    /// Reads what a client sends back; `None` if it is not what we gave it.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes: [u8; 16] = URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
        let (time, id) = bytes.split_at(8);
        let sort_at = Timestamp::from_millisecond(i64::from_be_bytes(time.try_into().ok()?)).ok()?;
        Some(Self { sort_at, id: EntryId(i64::from_be_bytes(id.try_into().ok()?)) })
    }

    /// As a client sees it.
    pub fn encode(self) -> String {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.sort_at.as_millisecond().to_be_bytes());
        bytes[8..].copy_from_slice(&self.id.0.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_went_and_nothing_else_does() {
        let cursor = Cursor { sort_at: Timestamp::from_millisecond(-1_234_567).unwrap(), id: EntryId(42) };
        assert_eq!(Cursor::decode(&cursor.encode()), Some(cursor));
        for bad in ["", "x", "AAAA", "////", &"A".repeat(1000)] {
            assert_eq!(Cursor::decode(bad), None, "{bad}");
        }
    }
}
