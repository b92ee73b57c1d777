//! Who finds a feed at its URL, and so may come to share it. What was read with somebody's password, or brought from
//! another URL, is for nobody else.

use crate::{
    feed_state::FeedAddress,
    ids::{AccountId, FeedId},
    ingest::Hash,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// Whoever asks for its URL.
    Everybody,
    /// Those who followed it when it moved there, and nobody who comes later. What it brings from its old URL may have been
    /// meant for those who knew a secret address, or be forged.
    Followers,
    /// One account, because the feed has a user and password, or because that account alone brought it there.
    Account(AccountId),
}

impl FoundBy {
    /// The feed that an account means by an address.
    pub fn at(address: &FeedAddress, account: AccountId) -> Self {
        if address.credentials.is_some() { Self::Account(account) } else { Self::Everybody }
    }

    /// All ways by which a feed may be found that an account follows.
    pub fn all(account: AccountId) -> [Self; 3] {
        [Self::Everybody, Self::Account(account), Self::Followers]
    }

    /// The feed once its publisher has moved it to an address; of its followers two are enough. `None` if it must stay: what
    /// several follow is given nobody's password.
    pub fn after_move(address: &FeedAddress, followers: &[AccountId]) -> Option<Self> {
        match followers {
            [] => None,
            [only] => Some(Self::Account(*only)),
            _ => address.credentials.is_none().then_some(Self::Followers),
        }
    }

    /// Feeds at the same address that are in the way of one that moves there to be found so. One with a user and password is
    /// another feed than the one without.
    pub fn in_the_way(self, address: &FeedAddress) -> [Self; 2] {
        [self, if address.credentials.is_none() { Self::Everybody } else { self }]
    }

    /// What a store finds it by.
    pub fn hash(self, url: &str) -> Hash {
        // No URL has a NUL.
        match self {
            Self::Everybody => Hash::of(url.as_bytes()),
            Self::Followers => Hash::of(format!("{url}\0").as_bytes()),
            Self::Account(account) => Hash::of(format!("{url}\0{account}").as_bytes()),
        }
    }
}

/// What becomes of a feed that one of its followers gives another address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressChange {
    /// The feed itself has the address from now on.
    Rewritten(FoundBy),
    /// It has it already, and others follow it.
    Unchanged,
    /// It stays as it is for others; the account follows this one instead, or a new one.
    Another(Option<FeedId>),
}

impl AddressChange {
    /// Decides it from the feed that the server has at the address, if it has one, and from whether nobody else follows the
    /// feed that is to be changed.
    pub fn of(feed: FeedId, address: &FeedAddress, there: Option<FeedId>, is_alone: bool, account: AccountId) -> Self {
        match there {
            Some(there) if there != feed => Self::Another(Some(there)),
            Some(_) if is_alone => Self::Rewritten(FoundBy::at(address, account)),
            Some(_) => Self::Unchanged,
            // What was read at the old address is not for whoever follows the new one.
            None if is_alone => Self::Rewritten(FoundBy::Account(account)),
            None => Self::Another(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: AccountId = AccountId(1);
    const BEN: AccountId = AccountId(2);

    fn address(credentials: Option<&str>) -> FeedAddress {
        FeedAddress { url: "https://e.org/f".to_owned(), credentials: credentials.map(str::to_owned) }
    }

    #[test]
    fn a2_who_finds_a_feed_that_moved() {
        for (credentials, followers, expect) in [
            (None, &[][..], None),
            (None, &[ANN], Some(FoundBy::Account(ANN))),
            (None, &[ANN, BEN], Some(FoundBy::Followers)),
            (Some("u:p"), &[], None),
            (Some("u:p"), &[BEN], Some(FoundBy::Account(BEN))),
            (Some("u:p"), &[ANN, BEN], None),
            // Nothing is sent, but what was read with it was private.
            (Some(""), &[ANN, BEN], None),
        ] {
            let address = address(credentials);
            assert_eq!(FoundBy::after_move(&address, followers), expect, "{credentials:?}, {followers:?}");
        }
    }

    #[test]
    fn f4_what_is_in_the_way_of_a_move() {
        let own = FoundBy::Account(ANN);
        for (credentials, found, expect) in [
            (None, own, [own, FoundBy::Everybody]),
            (None, FoundBy::Followers, [FoundBy::Followers, FoundBy::Everybody]),
            (Some("u:p"), own, [own, own]),
            (Some(""), own, [own, own]),
        ] {
            assert_eq!(found.in_the_way(&address(credentials)), expect, "{credentials:?}, {found:?}");
        }
    }

    #[test]
    fn a2_what_becomes_of_a_feed_with_another_address() {
        use AddressChange::*;
        let (feed, other) = (FeedId(1), FeedId(2));
        for (credentials, there, is_alone, expect) in [
            (None, None, true, Rewritten(FoundBy::Account(ANN))),
            (None, None, false, Another(None)),
            (None, Some(feed), true, Rewritten(FoundBy::Everybody)),
            (None, Some(feed), false, Unchanged),
            (None, Some(other), true, Another(Some(other))),
            (None, Some(other), false, Another(Some(other))),
            (Some("u:p"), None, true, Rewritten(FoundBy::Account(ANN))),
            (Some("u:p"), None, false, Another(None)),
            (Some("u:p"), Some(feed), true, Rewritten(FoundBy::Account(ANN))),
            (Some("u:p"), Some(other), true, Another(Some(other))),
        ] {
            let change = AddressChange::of(feed, &address(credentials), there, is_alone, ANN);
            assert_eq!(change, expect, "{credentials:?}, {there:?}, {is_alone}");
        }
    }

    #[test]
    fn a2_nobody_else_finds_what_is_of_one_account() {
        let url = &address(None).url;
        let found = |account, credentials| FoundBy::at(&address(credentials), account).hash(url);
        assert_eq!(found(ANN, None), found(BEN, None));
        assert_ne!(found(ANN, Some("u:p")), found(BEN, Some("u:p")));
        assert_eq!(found(ANN, Some("u:p")), found(ANN, Some("")), "its password may change");
        for by in FoundBy::all(BEN) {
            assert_ne!(by.hash(url), found(ANN, Some("u:p")), "{by:?}");
        }
        for account in [ANN, BEN] {
            assert_ne!(FoundBy::Followers.hash(url), found(account, None));
        }
    }
}
