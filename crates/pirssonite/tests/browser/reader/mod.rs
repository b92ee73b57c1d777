//! The reader: every action by keyboard and by mouse, at the widths of a phone, a tablet and a desk, on both stores
//! (requirements U1, U1a, U1b).

mod by_keyboard;
mod by_mouse;
mod endless;
mod feeds_by_keyboard;
mod feeds_by_mouse;
mod hostile;
mod media;
mod scrolling;
mod views;

use crate::{
    browser::{DESK, PHONE, TABLET},
    scene::Store,
};

/// Where every action is done: at each width, on each store.
const PLACES: [(u32, Store); 6] = [
    (PHONE, Store::Sqlite),
    (PHONE, Store::Postgres),
    (TABLET, Store::Sqlite),
    (TABLET, Store::Postgres),
    (DESK, Store::Sqlite),
    (DESK, Store::Postgres),
];
