//! The small pictures of feeds: what is kept of one, which may be one, and when it is looked for again. They are found and
//! fetched by this server alone: no reader's browser asks a publisher for them.

mod one_of_ico;

use std::time::Duration;

use crate::{
    ids::{FeedId, IconId},
    ingest::Hash,
    raster::{Raster, RasterKind},
};

/// Bytes of a picture that is looked at: some sites put every size that there is into their `favicon.ico`.
pub const ICON_FETCHED_BYTES_MAX: usize = 512 * 1024;

/// Bytes of one that is kept.
pub const ICON_BYTES_MAX: usize = 64 * 1024;

/// Pixels of a side of one that is kept.
const SIDE_MAX: u32 = 1024;

/// How much longer one side may be than the other: a banner is no icon.
const SIDES_RATIO_MAX: u32 = 2;

/// Bytes of all icons that [`feed_icons`](crate::ports::IconStore::feed_icons) hands out at once; feeds beyond have none.
pub const ICONS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Feeds whose icons it hands out at once.
pub const ICONS_MAX: u32 = 5_000;

/// How long an icon is taken for what it is.
const FRESH_FOR: Duration = Duration::from_hours(7 * 24);

/// After a failure; doubled with each, up to a week.
const FAILED_FIRST: Duration = Duration::from_hours(1);

/// An icon, shared by all feeds that have the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icon {
    /// It never changes what it stands for: another picture is another icon.
    pub id: IconId,
    pub kind: RasterKind,
    pub bytes: Vec<u8>,
}

/// The icons of the feeds that an account follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedIcons {
    /// Which feed has which, by feed.
    pub by_feed: Vec<(FeedId, IconId)>,
    /// Each once, by id.
    pub icons: Vec<Icon>,
}

/// A picture that may be kept as an icon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIcon {
    pub kind: RasterKind,
    pub bytes: Vec<u8>,
    /// Of the bytes.
    pub hash: Hash,
}

/// A feed whose icon is to be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IconJob {
    pub feed: FeedId,
    /// Where it is polled, without user and password.
    pub url: String,
    /// The page it belongs to.
    pub site_url: Option<String>,
    /// What its document calls its icon, and its larger picture.
    pub icon_url: Option<String>,
    pub logo_url: Option<String>,
    /// How often in a row it could not be looked for.
    pub failures: u32,
}

/// What became of a look for an icon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IconLook {
    Found(NewIcon),
    /// Everybody answered, and nobody had one.
    None,
    /// Nobody can tell: what was known of it holds.
    Failed,
}

impl NewIcon {
    /// Takes a picture as an icon; `None` if it is none that may be kept. Of an ICO that holds several pictures one is kept.
    pub fn of(bytes: Vec<u8>) -> Option<Self> {
        let raster = Raster::read(&bytes)?;
        let bytes = if raster.kind == RasterKind::Ico { one_of_ico::one_of(&bytes)? } else { bytes };
        let Raster { kind, width, height } = Raster::read(&bytes)?;
        let (long, short) = (width.max(height), width.min(height));
        let is_icon = long <= SIDE_MAX && long <= short * SIDES_RATIO_MAX && bytes.len() <= ICON_BYTES_MAX;
        is_icon.then(|| Self { kind, hash: Hash::of(&bytes), bytes })
    }
}

impl IconLook {
    /// How often in a row it could not be looked for, after this.
    pub fn failures(&self, before: u32) -> u32 {
        if *self == Self::Failed { before.saturating_add(1) } else { 0 }
    }

    /// When it is looked for again: a week later, or sooner after a failure, ever less soon.
    pub fn again_in(&self, failures_before: u32) -> Duration {
        match self {
            Self::Found(_) | Self::None => FRESH_FOR,
            Self::Failed => FAILED_FIRST.saturating_mul(1 << failures_before.min(8)).min(FRESH_FOR),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, length: usize) -> Vec<u8> {
        let mut bytes = [&b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"[..], &width.to_be_bytes(), &height.to_be_bytes()].concat();
        bytes.resize(length, 0);
        bytes
    }

    #[test]
    fn u1_only_small_raster_pictures_are_icons() {
        for (bytes, is_icon) in [
            (png(32, 32, 100), true),
            (png(1024, 512, ICON_BYTES_MAX), true),
            (png(32, 32, ICON_BYTES_MAX + 1), false),
            (png(1025, 1025, 100), false),
            (png(88, 31, 100), false),
            (b"<svg xmlns='http://www.w3.org/2000/svg' width='16' height='16'/>".to_vec(), false),
            (b"<html>Not found</html>".to_vec(), false),
        ] {
            assert_eq!(NewIcon::of(bytes.clone()).is_some(), is_icon, "{:?}", &bytes[..20]);
        }
    }

    #[test]
    fn u1_icons_are_looked_for_weekly_and_failures_back_off() {
        let hours = |look: &IconLook, failures| look.again_in(failures).as_secs() / 3600;
        assert_eq!(hours(&IconLook::None, 3), 168);
        let failed: Vec<u64> = (0..9).map(|failures| hours(&IconLook::Failed, failures)).collect();
        assert_eq!(failed, [1, 2, 4, 8, 16, 32, 64, 128, 168]);
        assert_eq!(hours(&IconLook::Failed, u32::MAX), 168);
        assert_eq!((IconLook::Failed.failures(u32::MAX), IconLook::None.failures(4)), (u32::MAX, 0));
    }
}
