//! What both stores hand out of icons, and how long they keep one that no feed has.

use std::{collections::HashSet, time::Duration};

use domain::{FeedId, IconId};

/// Whoever has found an icon has said by then for which feed.
pub(crate) const ORPHAN_KEPT: Duration = Duration::from_hours(1);

/// Of feeds with their icons and how many bytes those have, as many as so many bytes are enough for; each counts once.
pub(crate) fn handed_out(listed: &[(FeedId, IconId, u64)], bytes_max: usize) -> Vec<(FeedId, IconId)> {
    let mut left = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let mut known = HashSet::new();
    let mut chosen = Vec::new();
    for &(feed, icon, bytes) in listed {
        if !known.contains(&icon) {
            let Some(rest) = left.checked_sub(bytes) else { continue };
            left = rest;
            known.insert(icon);
        }
        chosen.push((feed, icon));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_icons_that_are_handed_out_are_bounded() {
        let listed = [(1, 1, 60), (2, 2, 50), (3, 1, 60), (4, 3, 40)];
        let listed = listed.map(|(feed, icon, bytes)| (FeedId(feed), IconId(icon), bytes));
        let chosen = handed_out(&listed, 100);
        assert_eq!(chosen, [(1, 1), (3, 1), (4, 3)].map(|(feed, icon)| (FeedId(feed), IconId(icon))));
    }
}
