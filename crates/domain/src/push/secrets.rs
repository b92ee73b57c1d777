//! The secrets that a hub may sign with. Every request to a hub brings a new one, but a hub may not have taken it up yet,
//! or never does: an old secret is good until a newer one has been seen at work.

use serde::{Deserialize, Serialize};

/// Secrets kept at once. The newest few, the oldest that was never seen at work, and the last that was.
const NEWEST_KEPT: usize = 4;

/// A secret, as it was sent to the hub.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Secret {
    value: String,
    /// A push came that was signed with it.
    is_proven: bool,
}

/// The secrets of a subscription, oldest first.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(Vec<Secret>);

impl std::fmt::Debug for Secrets {
    /// How many, and nothing of what they are.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} secrets", self.0.len())
    }
}

impl Secrets {
    /// A secret that a hub is about to be given.
    pub fn add(&mut self, value: String) {
        self.0.push(Secret { value, is_proven: false });
        let newest = self.0.len().saturating_sub(NEWEST_KEPT);
        let last_proven = self.0.iter().rposition(|secret| secret.is_proven);
        let oldest_unproven = self.0.iter().position(|secret| !secret.is_proven);
        let mut place = 0;
        self.0.retain(|_| {
            let keeps = place >= newest || Some(place) == last_proven || Some(place) == oldest_unproven;
            place += 1;
            keeps
        });
    }

    /// A push came that was signed with this one: those before it are no longer needed.
    pub fn prove(&mut self, value: &str) {
        if let Some(place) = self.0.iter().position(|secret| secret.value == value) {
            self.0.drain(..place);
            self.0[0].is_proven = true;
        }
    }

    /// Those that a hub may sign with, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &str> {
        self.0.iter().rev().map(|secret| secret.value.as_str())
    }

    /// Whether this is known to be what the hub signs with, and nothing older is kept: to prove it again changes nothing.
    pub fn is_proven(&self, value: &str) -> bool {
        self.0.first().is_some_and(|secret| secret.is_proven && secret.value == value)
    }

    /// Whether no hub was ever given one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(secrets: &Secrets) -> String {
        secrets.0.iter().map(|secret| secret.value.as_str()).collect()
    }

    fn add(secrets: &mut Secrets, values: &str) {
        values.chars().for_each(|value| secrets.add(value.to_string()));
    }

    #[test]
    fn w6_old_secret_is_dropped_once_a_newer_one_is_proven() {
        let mut secrets = Secrets::default();
        add(&mut secrets, "abc");
        secrets.prove("b");
        assert_eq!(kept(&secrets), "bc");
        assert!(secrets.is_proven("b") && !secrets.is_proven("c"));
        secrets.prove("b");
        assert_eq!(kept(&secrets), "bc", "the hub keeps its first secret: what it was given since stays good");
        secrets.prove("c");
        assert_eq!(kept(&secrets), "c");
        secrets.prove("z");
        assert_eq!(kept(&secrets), "c");
        assert_eq!(secrets.newest_first().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn w6_bounded_secrets_keep_proven_oldest_and_newest() {
        let mut secrets = Secrets::default();
        add(&mut secrets, "abcdefghij");
        assert_eq!(kept(&secrets), "aghij", "none was ever seen at work: the first may be what the hub keeps");
        let mut secrets = Secrets::default();
        add(&mut secrets, "a");
        secrets.prove("a");
        add(&mut secrets, "bcdefghij");
        assert_eq!(kept(&secrets), "abghij");
        assert_eq!(format!("{secrets:?}"), "6 secrets");
        let stored = serde_json::to_string(&secrets).unwrap();
        assert_eq!(serde_json::from_str::<Secrets>(&stored).unwrap(), secrets);
    }
}
