//! Following: what an account wants of a feed that the server may have already.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::{
    feed_state::{Feed, FeedAddress, FeedSeed},
    ids::FolderId,
    ingest::{EntryKey, Hash},
};

/// A feed that an account wants to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFollow {
    pub address: FeedAddress,
    pub folder_id: Option<FolderId>,
    /// What the account calls it.
    pub custom_title: Option<String>,
}

/// What an account wants of a feed that it follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowSettings {
    pub folder_id: Option<FolderId>,
    /// What the account calls it.
    pub custom_title: Option<String>,
    pub poll_interval: Option<u32>,
    pub push_enabled: bool,
}

impl FollowSettings {
    /// Of a feed as the account sees it.
    pub fn of(feed: &Feed) -> Self {
        Self {
            folder_id: feed.folder_id,
            custom_title: feed.custom_title.clone(),
            poll_interval: feed.poll_interval,
            push_enabled: feed.push_enabled,
        }
    }

    /// Of a feed of an import, in the folder that it names.
    pub fn of_seed(seed: &FeedSeed, folder_id: Option<FolderId>) -> Self {
        Self {
            folder_id,
            custom_title: seed.custom_title.clone(),
            poll_interval: seed.poll_interval,
            push_enabled: seed.push_enabled,
        }
    }
}

/// What the last document of a feed held, so that whoever begins to follow it has that unread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastDocument {
    pub identities: HashSet<Hash>,
    pub stored_at: Timestamp,
}

impl LastDocument {
    /// As it is stored: the identities, one after the other.
    pub fn to_bytes(present: &[EntryKey]) -> Vec<u8> {
        let identities: HashSet<Hash> = present.iter().map(|key| key.identity).collect();
        let mut sorted: Vec<Hash> = identities.into_iter().collect();
        sorted.sort_unstable();
        sorted.iter().flat_map(|identity| identity.0).collect()
    }

    pub fn from_bytes(identities: &[u8], stored_at: Timestamp) -> Self {
        let (identities, _) = identities.as_chunks::<16>();
        Self { identities: identities.iter().map(|identity| Hash(*identity)).collect(), stored_at }
    }

    /// Whether a new follower has not read an entry: it is in the last document, or was pushed since.
    pub fn is_unread(&self, identity: Hash, received_at: Timestamp) -> bool {
        received_at > self.stored_at || self.identities.contains(&identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a2_last_document_and_later_pushes_are_unread() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let key = |text: &str| EntryKey { identity: Hash::of(text.as_bytes()), ..EntryKey::default() };
        let bytes = LastDocument::to_bytes(&[key("a"), key("b"), key("a")]);
        assert_eq!(bytes.len(), 32, "each identity once");
        let last = LastDocument::from_bytes(&bytes, at(10));
        for (identity, received, expect) in
            [("a", 5, true), ("b", 10, true), ("c", 10, false), ("c", 5, false), ("c", 11, true)]
        {
            assert_eq!(last.is_unread(Hash::of(identity.as_bytes()), at(received)), expect, "{identity} at {received}");
        }
    }
}
