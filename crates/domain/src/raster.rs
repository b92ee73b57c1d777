//! Pictures of strangers, known by their first bytes and never by what their server calls them. Nothing is decoded: a kind
//! and the dimensions are read from the header, and what has neither is no picture. SVG is a program, and none here.

/// Pixels of a side of a picture that is passed on. More is an attack on whoever decodes it.
pub const SIDE_PIXELS_MAX: u32 = 16_384;

/// Pixels of a picture in all: what a decoder has to hold, four bytes each.
pub const AREA_PIXELS_MAX: u64 = 100_000_000;

/// Segments of a JPEG that are passed over to find its dimensions.
const JPEG_SEGMENTS_MAX: usize = 256;

/// Kinds that every browser shows, and nothing else can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RasterKind {
    Png,
    Gif,
    Jpeg,
    Webp,
    Avif,
    Ico,
}

impl RasterKind {
    /// Its media type: what it is served as.
    pub fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Avif => "image/avif",
            Self::Ico => "image/x-icon",
        }
    }

    /// The kind of a media type of ours.
    pub fn of_mime(mime: &str) -> Option<Self> {
        let kinds = [Self::Png, Self::Gif, Self::Jpeg, Self::Webp, Self::Avif, Self::Ico];
        kinds.into_iter().find(|kind| kind.mime() == mime)
    }
}

/// What the header of a picture says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raster {
    pub kind: RasterKind,
    pub width: u32,
    pub height: u32,
}

impl Raster {
    /// Reads the header of a picture; `None` if it is none of a known kind, or has dimensions that nobody can want.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, (width, height)) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            (RasterKind::Png, png(bytes)?)
        } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
            (RasterKind::Gif, (two_bytes_le(bytes, 6)?, two_bytes_le(bytes, 8)?))
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            (RasterKind::Jpeg, jpeg(bytes)?)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            (RasterKind::Webp, webp(bytes)?)
        } else if bytes.get(4..8) == Some(b"ftyp") && matches!(bytes.get(8..12), Some(b"avif" | b"avis")) {
            (RasterKind::Avif, avif(bytes)?)
        } else if bytes.starts_with(b"\0\0\x01\0") {
            (RasterKind::Ico, ico(bytes)?)
        } else {
            return None;
        };
        let raster = Self { kind, width, height };
        raster.is_sane().then_some(raster)
    }

    fn is_sane(self) -> bool {
        let sides = [self.width, self.height];
        sides.iter().all(|side| (1..=SIDE_PIXELS_MAX).contains(side))
            && u64::from(self.width) * u64::from(self.height) <= AREA_PIXELS_MAX
    }
}

/// `IHDR` is the first chunk of every PNG.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.get(12..16) != Some(b"IHDR") {
        return None;
    }
    Some((four_bytes_be(bytes, 16)?, four_bytes_be(bytes, 20)?))
}

/// Walks the segments to the one that begins a frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    for _ in 0..JPEG_SEGMENTS_MAX {
        while bytes.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        let (&0xff, &marker) = (bytes.get(at)?, bytes.get(at + 1)?) else { return None };
        match marker {
            // Frames, but for tables of Huffman codes, arithmetic coding and an extension of JPEG.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((two_bytes_be(bytes, at + 7)?, two_bytes_be(bytes, at + 5)?));
            }
            // Markers without a length.
            0x01 | 0xd0..=0xd8 => at += 2,
            // The picture's end, or its data before any frame.
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::try_from(two_bytes_be(bytes, at + 2)?).ok()?.max(2),
        }
    }
    None
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((three_bytes_le(bytes, 24)? + 1, three_bytes_le(bytes, 27)? + 1)),
        b"VP8 " if bytes.get(23..26) == Some(b"\x9d\x01\x2a") => {
            Some((two_bytes_le(bytes, 26)? & 0x3fff, two_bytes_le(bytes, 28)? & 0x3fff))
        }
        b"VP8L" if bytes.get(20) == Some(&0x2f) => {
            let bits = four_bytes_le(bytes, 21)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        _ => None,
    }
}

/// Bytes at the front of an AVIF within which its dimensions stand.
const AVIF_HEAD_BYTES: usize = 4096;

/// The largest `ispe` property: a picture of tiles has one for the tiles, too.
fn avif(bytes: &[u8]) -> Option<(u32, u32)> {
    let head = &bytes[..bytes.len().min(AVIF_HEAD_BYTES)];
    let found = head.windows(4).enumerate().filter(|(_, name)| name == b"ispe");
    found.filter_map(|(at, _)| Some((four_bytes_be(head, at + 8)?, four_bytes_be(head, at + 12)?))).max()
}

/// The largest of its pictures.
fn ico(bytes: &[u8]) -> Option<(u32, u32)> {
    let count = usize::try_from(two_bytes_le(bytes, 4)?).ok()?;
    let side = |at: usize| bytes.get(at).map(|&side| if side == 0 { 256 } else { u32::from(side) });
    (0..count).filter_map(|place| Some((side(6 + 16 * place)?, side(7 + 16 * place)?))).max()
}

pub(crate) fn two_bytes_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn three_bytes_le(bytes: &[u8], at: usize) -> Option<u32> {
    let &[low, middle, high] = bytes.get(at..at + 3)? else { return None };
    Some(u32::from_le_bytes([low, middle, high, 0]))
}

pub(crate) fn four_bytes_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn two_bytes_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn four_bytes_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        [&b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"[..], &width.to_be_bytes(), &height.to_be_bytes(), &[8, 6, 0, 0, 0]]
            .concat()
    }

    /// What it is, its bytes, and what they say.
    type Case<'a> = (&'a str, Vec<u8>, Option<(RasterKind, u32, u32)>);

    #[test]
    fn u1_pictures_are_known_by_their_bytes() {
        let webp = |chunk: &[u8]| [b"RIFF\0\0\0\0WEBP", chunk].concat();
        let cases: &[Case<'_>] = &[
            ("png", png(32, 16), Some((RasterKind::Png, 32, 16))),
            ("png without a header", b"\x89PNG\r\n\x1a\n".to_vec(), None),
            ("no pixels", png(0, 16), None),
            ("a side too long", png(SIDE_PIXELS_MAX + 1, 1), None),
            ("too many pixels", png(SIDE_PIXELS_MAX, SIDE_PIXELS_MAX), None),
            ("gif", b"GIF89a\x10\x00\x20\x00".to_vec(), Some((RasterKind::Gif, 16, 32))),
            ("gif cut off", b"GIF89a\x10".to_vec(), None),
            (
                "jpeg",
                b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08\0\x20\0\x10\x01".to_vec(),
                Some((RasterKind::Jpeg, 16, 32)),
            ),
            ("jpeg without a frame", b"\xff\xd8\xff\xda\0\x04ab".to_vec(), None),
            ("jpeg of one segment for ever", b"\xff\xd8\xff\xe0\0\0\0\0\0\0".to_vec(), None),
            ("webp, lossy", webp(b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x40\0\x20\0"), Some((RasterKind::Webp, 64, 32))),
            ("webp, lossless", webp(b"VP8L\0\0\0\0\x2f\x3f\xc0\x07\0"), Some((RasterKind::Webp, 64, 32))),
            ("webp, extended", webp(b"VP8X\0\0\0\0\0\0\0\0\x3f\0\0\x1f\0\0"), Some((RasterKind::Webp, 64, 32))),
            (
                "avif",
                b"\0\0\0\x1cftypavif\0\0\0\0....ispe\0\0\0\0\0\0\0\x40\0\0\0\x20".to_vec(),
                Some((RasterKind::Avif, 64, 32)),
            ),
            (
                "ico",
                [&b"\0\0\x01\0\x02\0"[..], &[16, 16], &[0; 14], &[0, 0], &[0; 14]].concat(),
                Some((RasterKind::Ico, 256, 256)),
            ),
            ("ico of nothing", b"\0\0\x01\0\0\0".to_vec(), None),
            ("svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec(), None),
            ("html", b"<!doctype html>".to_vec(), None),
            ("nothing", Vec::new(), None),
        ];
        for (name, bytes, expect) in cases {
            let read = Raster::read(bytes).map(|raster| (raster.kind, raster.width, raster.height));
            assert_eq!(read, *expect, "{name}");
        }
    }

    #[test]
    fn u1_no_header_is_read_beyond_its_end() {
        let ico = [&b"\0\0\x01\0\xff\xff"[..], &[16; 40]].concat();
        for whole in [png(32, 32), ico, b"\xff\xd8\xff\xe0\xff\xff".to_vec(), b"RIFF\0\0\0\0WEBPVP8X".to_vec()] {
            for length in 0..whole.len() {
                let _ = Raster::read(&whole[..length]);
            }
        }
    }

    #[test]
    fn u1_media_types_lead_back() {
        for kind in ["image/png", "image/gif", "image/jpeg", "image/webp", "image/avif", "image/x-icon"] {
            assert_eq!(RasterKind::of_mime(kind).map(RasterKind::mime), Some(kind));
        }
        assert_eq!(RasterKind::of_mime("image/svg+xml"), None);
    }
}
