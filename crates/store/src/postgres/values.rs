//! Values as the driver takes and gives them.

use domain::{feed_state::FeedAddress, ingest::Hash};

pub(super) use crate::values::{categories, count, enclosures, millis, optional, small, text, time, total};

/// The hash that a URL is found by.
pub(super) fn url_hash(address: &FeedAddress) -> Vec<u8> {
    crate::values::url_hash(address).to_vec()
}

/// The hash of a column.
pub(super) fn hash(bytes: &[u8]) -> Option<Hash> {
    bytes.try_into().ok().map(Hash)
}
