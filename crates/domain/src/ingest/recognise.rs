//! Which entries of a document are which entries of the store.
//!
//! An identity is a guid, else a link, else a text. Some feeds give the same one to several entries. Which identities
//! those are shows only when two stand in one document, so no rule about a single entry can be right for both kinds of
//! feed, and what an entry is called must not depend on what else its document holds. Therefore the store keeps for each
//! entry what tells it from others of its identity ([`Traits`]), and a document is compared as a whole:
//!
//! - The only entry of its identity, on both sides, is the same entry, however it was edited.
//! - Of several, two are the same that agree in everything; else in their link, in their title and date, or in their
//!   text, where that is unlike all others of the identity on both sides.
//! - Any other entry is new.
//!
//! Stores keep all entries of an identity, also those of which only a memory is left, so an identity that was shared
//! once stays so while the document moves on.

use std::{
    collections::{HashMap, HashSet, hash_map},
    hash,
};

use super::{Document, Hash, IncomingEntry, Known};

/// What tells entries of one identity apart: hashes, 0 for what an entry has not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Traits {
    /// Of its link, where that is neither its identity nor the front page.
    pub link: i64,
    /// Of its title, and of its date where it has no guid.
    pub title: i64,
}

/// What an entry of a document is recognised by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EntryKey {
    /// The hash of its guid, else of its link, else of its text.
    pub identity: Hash,
    /// What tells it from others of that identity.
    pub traits: Traits,
    /// The hash of all that a reader sees of it.
    pub fingerprint: Hash,
    /// Its identity is the address of the front page: others have it or will have it, so it proves nothing.
    pub is_shared: bool,
    /// The document ended inside it.
    pub is_cut: bool,
}

/// What a store knows of some identities.
pub type KnownEntries = HashMap<Hash, Vec<Known>>;

/// For each entry of a document what it is known as. `known` holds all that is known of those identities that are asked
/// about; the others are taken for new.
///
/// An entry that was cut off is taken for one of those that are there: it may have lost what tells it apart.
pub fn recognise<'k>(present: &[EntryKey], known: &'k KnownEntries) -> Vec<Option<&'k Known>> {
    let mut found = vec![None; present.len()];
    if known.is_empty() {
        return found;
    }
    let mut groups: HashMap<Hash, Vec<usize>> = HashMap::with_capacity(known.len());
    for (index, key) in present.iter().enumerate() {
        if known.contains_key(&key.identity) {
            groups.entry(key.identity).or_default().push(index);
        }
    }
    for (identity, members) in groups {
        let Some(known) = known.get(&identity) else { continue };
        match (members.as_slice(), known.as_slice()) {
            ([index], [only]) if !present[*index].is_shared => found[*index] = Some(only),
            (members, known) => distinguish(present, members, known, &mut found),
        }
    }
    found
}

impl Document {
    /// Indexes of the entries that are new or changed, each with what it is known as beside all others of the document. Of
    /// what is there twice the first counts.
    pub fn recognise<'k>(&self, known: &'k KnownEntries) -> Vec<(usize, Option<&'k Known>)> {
        let mut seen = HashSet::with_capacity(self.entries.len());
        let (indexes, mut keys): (Vec<usize>, Vec<EntryKey>) =
            self.entries.iter().map(IncomingEntry::key).enumerate().filter(|(_, key)| seen.insert(*key)).unzip();
        let others = self.present.iter().filter(|key| known.contains_key(&key.identity) && !seen.contains(*key));
        keys.extend(others.copied());
        indexes.into_iter().zip(recognise(&keys, known)).collect()
    }
}

/// Whether a pruned entry may still be one of a document's entries of its identity.
pub fn is_present(pruned: &Known, of_identity: &[EntryKey]) -> bool {
    let (traits, fingerprint) = pruned.version();
    of_identity.iter().any(|key| {
        key.fingerprint == fingerprint
            || key.traits.link != 0 && key.traits.link == traits.link
            || key.traits.title != 0 && key.traits.title == traits.title
            || of_identity.len() == 1 && !key.is_shared
    })
}

/// Of these keys, those whose identity is shared: by several of them, or by the front page. By identity.
pub fn shared(present: &[EntryKey]) -> HashMap<Hash, Vec<EntryKey>> {
    let mut seen = HashSet::with_capacity(present.len());
    let shared: HashSet<Hash> =
        present.iter().filter(|key| !seen.insert(key.identity) || key.is_shared).map(|key| key.identity).collect();
    let mut groups: HashMap<Hash, Vec<EntryKey>> = HashMap::with_capacity(shared.len());
    for key in present.iter().filter(|key| shared.contains(&key.identity)) {
        groups.entry(key.identity).or_default().push(*key);
    }
    groups
}

/// Entries of one identity: `members` are their places in the document. There may be 20,000 known ones beside a few members,
/// and a store waits for this inside a transaction: of the known ones only those are noted that a member may be.
fn distinguish<'k>(present: &[EntryKey], members: &[usize], known: &'k [Known], found: &mut [Option<&'k Known>]) {
    let mut is_matched = vec![false; known.len()];
    let mut take = |index: usize, at: usize, found: &mut [Option<&'k Known>]| {
        if found[index].is_none() && !is_matched[at] {
            is_matched[at] = true;
            found[index] = Some(&known[at]);
        }
    };
    let version = |index: usize| (present[index].traits, present[index].fingerprint);
    let mut exact: HashMap<(Traits, Hash), Option<usize>> =
        members.iter().map(|index| (version(*index), None)).collect();
    for (at, known) in known.iter().enumerate() {
        if let Some(first) = exact.get_mut(&known.version()) {
            first.get_or_insert(at);
        }
    }
    for index in members {
        if let Some(Some(at)) = exact.get(&version(*index)) {
            take(*index, *at, found);
        }
    }
    let some = |value: i64| (value != 0).then_some(value);
    let links = pairs(members, known, |index| some(present[index].traits.link), |known| some(known.version().0.link));
    let titles =
        pairs(members, known, |index| some(present[index].traits.title), |known| some(known.version().0.title));
    let texts = pairs(members, known, |index| Some(present[index].fingerprint), |known| Some(known.version().1));
    for (index, at) in links.into_iter().chain(titles).chain(texts) {
        take(index, at, found);
    }
    for index in members {
        if present[*index].is_cut && found[*index].is_none() {
            found[*index] = known.first();
        }
    }
}

/// Members and known ones that agree in a key which nobody else has, on either side.
fn pairs<K: Eq + hash::Hash>(
    members: &[usize],
    known: &[Known],
    key_of_member: impl Fn(usize) -> Option<K>,
    key_of_known: impl Fn(&Known) -> Option<K>,
) -> Vec<(usize, usize)> {
    let of_members = unique(members.iter().filter_map(|index| Some((key_of_member(*index)?, *index))));
    let of_known = known.iter().enumerate().filter_map(|(at, known)| Some((key_of_known(known)?, at)));
    let of_known = unique(of_known.filter(|(key, _)| of_members.contains_key(key)));
    of_members.into_iter().filter_map(|(key, index)| Some((index?, (*of_known.get(&key)?)?))).collect()
}

/// The value of each key that is there once; none of one that is there more often.
fn unique<K: Eq + hash::Hash, V>(pairs: impl Iterator<Item = (K, V)>) -> HashMap<K, Option<V>> {
    let mut unique = HashMap::new();
    for (key, value) in pairs {
        match unique.entry(key) {
            hash_map::Entry::Vacant(vacant) => drop(vacant.insert(Some(value))),
            hash_map::Entry::Occupied(mut occupied) => drop(occupied.insert(None)),
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::Known;

    /// Of the identity 1, unless told otherwise.
    fn key(link: i64, title: i64, text: u8) -> EntryKey {
        EntryKey {
            identity: Hash([1; 16]),
            traits: Traits { link, title },
            fingerprint: Hash([text; 16]),
            ..EntryKey::default()
        }
    }

    fn shared_key(title: i64, text: u8) -> EntryKey {
        EntryKey { is_shared: true, ..key(0, title, text) }
    }

    fn known(keys: &[EntryKey]) -> KnownEntries {
        let mut known = KnownEntries::new();
        for key in keys {
            known.entry(key.identity).or_default().push(Known::Pruned(key.traits, key.fingerprint));
        }
        known
    }

    #[test]
    fn f3_which_entry_is_which() {
        let [a, b, c] = [key(0, 1, 1), key(0, 2, 2), key(0, 3, 3)];
        let cut = |key: EntryKey| EntryKey { is_cut: true, ..key };
        for (name, present, stored, expect) in [
            ("the only one, edited", vec![b], vec![a], vec![Some(0)]),
            ("a second one comes", vec![b, a], vec![a], vec![None, Some(0)]),
            ("one of two goes", vec![b], vec![a, b], vec![Some(1)]),
            ("one goes, another comes", vec![c, b], vec![a, b], vec![None, Some(1)]),
            ("another one, where two are known", vec![c], vec![a, b], vec![None]),
            ("both others", vec![b, c], vec![a], vec![None, None]),
            ("of two one text is edited", vec![key(0, 1, 9), b], vec![a, b], vec![Some(0), Some(1)]),
            ("of two one has another date", vec![key(0, 9, 1), b], vec![a, b], vec![Some(0), Some(1)]),
            ("the front page's, edited", vec![shared_key(2, 2)], vec![a], vec![None]),
            ("the front page's, its text edited", vec![shared_key(1, 2)], vec![a], vec![Some(0)]),
            (
                "the same text, each on its date",
                vec![key(0, 3, 1), key(0, 2, 1)],
                vec![key(0, 1, 1), key(0, 2, 1)],
                vec![None, Some(1)],
            ),
            (
                "the same title, without dates",
                vec![key(0, 1, 3), key(0, 1, 2)],
                vec![a, key(0, 1, 2)],
                vec![None, Some(1)],
            ),
            (
                "of a guid, by the link",
                vec![key(7, 9, 9), key(8, 2, 2)],
                vec![key(7, 1, 1), key(8, 2, 2)],
                vec![Some(0), Some(1)],
            ),
            (
                "of a guid, by the title",
                vec![key(9, 1, 9), key(8, 2, 2)],
                vec![key(7, 1, 1), key(8, 2, 2)],
                vec![Some(0), Some(1)],
            ),
            (
                "of a guid, known by a link to the front page that counts no more",
                vec![key(0, 1, 1), key(0, 2, 2), key(0, 3, 3)],
                vec![key(7, 1, 1)],
                vec![Some(0), None, None],
            ),
            ("nothing to tell them by", vec![key(0, 0, 2)], vec![key(0, 0, 1), key(0, 0, 3)], vec![None]),
            ("cut off before its title", vec![b, cut(key(0, 0, 9))], vec![a, b], vec![Some(1), Some(0)]),
        ] {
            let known = known(&stored);
            let expect: Vec<Option<&Known>> =
                expect.into_iter().map(|at: Option<usize>| at.map(|at| &known[&a.identity][at])).collect();
            assert_eq!(recognise(&present, &known), expect, "{name}");
        }
    }

    #[test]
    fn f3_identities_do_not_mix() {
        let other = EntryKey { identity: Hash([2; 16]), ..key(0, 1, 1) };
        let known = known(&[key(0, 1, 1)]);
        assert_eq!(recognise(&[other], &known), [None]);
        assert_eq!(recognise(&[other, key(0, 5, 5)], &known)[1], known[&Hash([1; 16])].first());
    }

    #[test]
    fn f7_which_pruned_entries_a_document_still_holds() {
        let pruned = Known::Pruned(Traits { link: 0, title: 1 }, Hash([1; 16]));
        for (name, present, expect) in [
            ("the only one of its identity, edited", vec![key(0, 2, 2)], true),
            ("with its title", vec![key(0, 1, 2), key(0, 3, 3)], true),
            ("with its text", vec![key(0, 2, 1), key(0, 3, 3)], true),
            ("two others", vec![key(0, 2, 2), key(0, 3, 3)], false),
            ("another of the front page's", vec![shared_key(2, 2)], false),
            ("none", vec![], false),
        ] {
            assert_eq!(is_present(&pruned, &present), expect, "{name}");
        }
    }

    #[test]
    fn f3_what_is_shared() {
        let own = EntryKey { identity: Hash([2; 16]), ..key(0, 1, 1) };
        let front = EntryKey { identity: Hash([3; 16]), ..shared_key(1, 1) };
        let groups = shared(&[key(0, 1, 1), own, key(0, 2, 2), front]);
        let mut sizes: Vec<(u8, usize)> = groups.iter().map(|(identity, keys)| (identity.0[0], keys.len())).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [(1, 2), (3, 1)]);
    }
}
