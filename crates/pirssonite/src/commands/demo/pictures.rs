//! The demo's pictures: hills in the evening, drawn anew for every name, the same for the same name.

use std::fmt::Write;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 360;

/// Rows of hills, the farthest first.
const ROWS: u32 = 4;

/// Points of a hill's outline.
const POINTS: u32 = 32;

/// A picture as SVG.
pub(super) fn svg(name: &str) -> String {
    let mut chance = Chance::of(name);
    let hue = chance.below(360);
    let (sun_x, sun_y, sun) = (80 + chance.below(480), 60 + chance.below(90), 22 + chance.below(26));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\
         <defs><linearGradient id=\"sky\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1\">\
         <stop offset=\"0\" stop-color=\"hsl({hue} 55% 72%)\"/><stop offset=\"1\" stop-color=\"hsl({} 80% 90%)\"/>\
         </linearGradient></defs><rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"url(#sky)\"/>\
         <circle cx=\"{sun_x}\" cy=\"{sun_y}\" r=\"{sun}\" fill=\"hsl({} 90% 88%)\"/>",
        (hue + 40) % 360,
        (hue + 30) % 360,
    );
    for row in 1..=ROWS {
        let _ = write!(
            svg,
            "<path d=\"{}\" fill=\"hsl({} 35% {}%)\"/>",
            hill(row, &mut chance),
            (hue + 15 * row) % 360,
            70 - 12 * row
        );
    }
    svg + "</svg>"
}

/// Pixels of a side of an icon, and of one of its five squares.
const ICON_SIDE: u32 = 32;
const SQUARE: u32 = 6;
/// A bit for each pixel.
const ICON_MASK_BYTES: usize = 32 * 32 / 8;
/// What is left of a side beside the squares, on each side.
const ICON_EDGE: u32 = (ICON_SIDE - 5 * SQUARE) / 2;

/// An icon as ICO: squares in one colour on another, the same on the left and on the right.
pub(super) fn ico(name: &str) -> Vec<u8> {
    let mut chance = Chance::of(name);
    let colour = |chance: &mut Chance, from: u32, to: u32| [0; 3].map(|_| from + chance.below(to - from));
    let (paper, ink) = (colour(&mut chance, 30, 130), colour(&mut chance, 200, 255));
    let squares: [[bool; 3]; 5] = [[(); 3]; 5].map(|row| row.map(|()| chance.below(2) == 1));
    let place = |at: u32| usize::try_from(at.checked_sub(ICON_EDGE)? / SQUARE).ok().filter(|place| *place < 5);
    let is_ink = |x: u32, y: u32| match (place(x), place(y)) {
        (Some(column), Some(row)) => squares[row][column.min(4 - column)],
        _ => false,
    };
    // One picture of 32 by 32, of 326 bytes: header, two colours, a bit for each pixel, and a mask that hides none.
    let mut icon = vec![0, 0, 1, 0, 1, 0, 32, 32, 2, 0, 1, 0, 1, 0, 48, 1, 0, 0, 22, 0, 0, 0];
    for field in [40, ICON_SIDE, 2 * ICON_SIDE, 0x0001_0001, 0, 0, 0, 0, 0, 0] {
        icon.extend_from_slice(&field.to_le_bytes());
    }
    for [red, green, blue] in [paper, ink] {
        icon.extend([blue, green, red, 0].map(|part| u8::try_from(part).unwrap_or(u8::MAX)));
    }
    for y in (0..ICON_SIDE).rev() {
        let row = (0..ICON_SIDE).fold(0_u32, |row, x| (row << 1) | u32::from(is_ink(x, y)));
        icon.extend_from_slice(&row.to_be_bytes());
    }
    icon.resize(icon.len() + ICON_MASK_BYTES, 0);
    icon
}

/// The outline of a row of hills: two waves, one upon the other.
fn hill(row: u32, chance: &mut Chance) -> String {
    let (shift, shift_of_small) = (chance.part() * 6.3, chance.part() * 6.3);
    let (length, height) = (1.0 + chance.part() * 2.0, 14.0 + chance.part() * 26.0);
    let ground = f64::from(HEIGHT) * (0.35 + 0.15 * f64::from(row));
    let mut outline = format!("M0 {HEIGHT}");
    for point in 0..=POINTS {
        let across = f64::from(point) / f64::from(POINTS);
        let angle = across * 6.3 * length;
        let y = ground - height * (angle + shift).sin() - height / 4.0 * (angle * 2.7 + shift_of_small).sin();
        let _ = write!(outline, "L{:.0} {y:.1}", across * f64::from(WIDTH));
    }
    let _ = write!(outline, "L{WIDTH} {HEIGHT}Z");
    outline
}

/// Numbers that look like chance and are the same for the same name.
struct Chance(u64);

impl Chance {
    fn of(name: &str) -> Self {
        // FNV-1a.
        Self(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)),
        )
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(limit.max(1))).unwrap_or_default()
    }

    /// From 0 to 1.
    fn part(&mut self) -> f64 {
        f64::from(self.below(10_000)) / 10_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_demo_icons_are_icons() {
        let icon = domain::icon::NewIcon::of(ico("harbour")).unwrap();
        assert_eq!((icon.kind.mime(), icon.bytes.len()), ("image/x-icon", 326));
        assert_ne!(ico("harbour"), ico("tea"));
    }

    #[test]
    fn u5_demo_pictures_are_the_same_for_the_same_name() {
        assert_eq!(svg("a-1"), svg("a-1"));
        assert_ne!(svg("a-1"), svg("a-2"));
        assert!(svg("a-1").len() < 10_000 && !svg("a-1").contains("NaN"));
    }
}
