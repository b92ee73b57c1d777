//! Chance that is the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use domain::ports::Ids;

/// Chance from a seed: the same calls give the same bytes.
#[derive(Debug)]
pub struct SeededIds(AtomicU64);

impl SeededIds {
    /// Chance that follows from this seed.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// `SplitMix64`: every seed gives another sequence, also neighbouring ones.
    fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    }
}

impl Ids for SeededIds {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_chance_again_and_another_one_does_not() {
        let owners = |seed| {
            let ids = SeededIds::new(seed);
            [ids.owner(), ids.owner()]
        };
        assert_eq!(owners(1), owners(1));
        assert_ne!(owners(1), owners(2));
        assert_ne!(owners(1)[0], owners(1)[1]);
        assert!((0.0..1.0).contains(&SeededIds::new(3).fraction()));
    }
}
