//! One picture of an ICO: many hold a dozen, and a list shows one at 16 or 32 pixels.

use crate::raster::{four_bytes_le, two_bytes_le};

/// The size that is wanted: enough for a dense screen.
const SIDE_WANTED: u32 = 32;

/// Pictures of an ICO that are looked at.
const PICTURES_MAX: usize = 64;

const HEAD_BYTES: usize = 6;
const PLACE_BYTES: usize = 16;

/// An ICO of the picture that fits best, or the picture itself if it is a PNG; `None` if there is none.
pub(super) fn one_of(ico: &[u8]) -> Option<Vec<u8>> {
    let count = usize::try_from(two_bytes_le(ico, 4)?).ok()?.min(PICTURES_MAX);
    let pictures = (0..count).filter_map(|place| Picture::read(ico, HEAD_BYTES + place * PLACE_BYTES));
    let best = pictures.min_by_key(Picture::unfitness)?;
    if best.data.starts_with(b"\x89PNG") {
        return Some(best.data.to_vec());
    }
    let mut one = vec![0, 0, 1, 0, 1, 0];
    one.extend_from_slice(&best.place[..8]);
    one.extend_from_slice(&u32::try_from(best.data.len()).ok()?.to_le_bytes());
    one.extend_from_slice(&u32::try_from(HEAD_BYTES + PLACE_BYTES).ok()?.to_le_bytes());
    one.extend_from_slice(best.data);
    Some(one)
}

struct Picture<'a> {
    place: &'a [u8],
    data: &'a [u8],
}

impl<'a> Picture<'a> {
    fn read(ico: &'a [u8], at: usize) -> Option<Self> {
        let place = ico.get(at..at + PLACE_BYTES)?;
        let (length, offset) =
            (usize::try_from(four_bytes_le(place, 8)?).ok()?, usize::try_from(four_bytes_le(place, 12)?).ok()?);
        let data = ico.get(offset..offset.checked_add(length)?)?;
        // A bitmap begins with the length of its header, 40 in all that browsers show.
        let is_picture = data.starts_with(b"\x89PNG\r\n\x1a\n") || data.starts_with(&[40, 0, 0, 0]);
        is_picture.then_some(Self { place, data })
    }

    /// Those that are large enough before those that are not, the nearest to what is wanted first, then by colours.
    fn unfitness(&self) -> (bool, u32, std::cmp::Reverse<u32>) {
        let side = match self.place[0] {
            0 => 256,
            side => u32::from(side),
        };
        (side < SIDE_WANTED, side.abs_diff(SIDE_WANTED), std::cmp::Reverse(two_bytes_le(self.place, 6).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::Raster;

    fn bitmap(side: u8) -> Vec<u8> {
        let mut bytes = vec![40, 0, 0, 0, side, 0, 0, 0];
        bytes.resize(40 + usize::from(side), side);
        bytes
    }

    fn ico(pictures: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 1, 0, u8::try_from(pictures.len()).unwrap(), 0];
        let mut offset = HEAD_BYTES + PLACE_BYTES * pictures.len();
        for (side, data) in pictures {
            bytes.extend_from_slice(&[*side, *side, 0, 0, 1, 0, 32, 0]);
            bytes.extend_from_slice(&u32::try_from(data.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(&u32::try_from(offset).unwrap().to_le_bytes());
            offset += data.len();
        }
        for (_, data) in pictures {
            bytes.extend_from_slice(data);
        }
        bytes
    }

    #[test]
    fn u1_one_picture_of_an_ico_is_kept() {
        let sides = |pictures: &[u8]| {
            let pictures: Vec<_> = pictures.iter().map(|side| (*side, bitmap(*side))).collect();
            one_of(&ico(&pictures)).and_then(|one| Raster::read(&one)).map(|raster| raster.width)
        };
        assert_eq!(sides(&[16, 32, 48, 64]), Some(32));
        assert_eq!(sides(&[16, 64, 48]), Some(48));
        assert_eq!(sides(&[16, 24]), Some(24));
        assert_eq!(sides(&[]), None);
        let one = one_of(&ico(&[(16, bitmap(16)), (32, bitmap(32))])).unwrap();
        assert_eq!(one.len(), HEAD_BYTES + PLACE_BYTES + bitmap(32).len());
        assert_eq!(one_of(&one).as_deref(), Some(&one[..]), "one of one is the same");
    }

    #[test]
    fn u1_broken_ones_are_passed_over() {
        let mut broken = ico(&[(32, bitmap(32)), (16, bitmap(16))]);
        broken[18] = 0xff;
        broken[19] = 0xff;
        assert_eq!(one_of(&broken).and_then(|one| Raster::read(&one)).map(|raster| raster.width), Some(16));
        assert_eq!(one_of(&ico(&[(32, b"<script>".to_vec())])), None);
        assert_eq!(one_of(b"\0\0\x01\0\xff\xff"), None);
    }
}
