//! The reader: every action by keyboard and by mouse, at the widths of a phone, a tablet and a desk (requirements U1, U1a,
//! U1b).

mod by_keyboard;
mod by_mouse;
mod hostile;
mod scene;
mod views;
