//! Small drawings for buttons, on a grid of 24.

use maud::{Markup, html};

pub(crate) const MENU: &str = "M4 7h16M4 12h16M4 17h16";
pub(crate) const BACK: &str = "M15 5l-7 7 7 7";
pub(crate) const PLUS: &str = "M12 5v14M5 12h14";
pub(crate) const REFRESH: &str = "M20 11a8 8 0 1 0-2.3 6M20 5v6h-6";
pub(crate) const CHECK_ALL: &str = "M2.5 12.5l4.5 4.5L16 8M12 16l1 1 8.5-9";
pub(crate) const STAR: &str = "M12 3.6l2.6 5.3 5.8.8-4.2 4.1 1 5.8-5.2-2.7-5.2 2.7 1-5.8-4.2-4.1 5.8-.8z";
pub(crate) const DOT: &str = "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10z";
pub(crate) const OUT: &str = "M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5";
pub(crate) const UP: &str = "M6 15l6-6 6 6";
pub(crate) const DOWN: &str = "M6 9l6 6 6-6";
pub(crate) const TUNE: &str = "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4";
pub(crate) const MORE: &str = "M5 11v2M12 11v2M19 11v2";
pub(crate) const INBOX: &str = "M4 13l2.5-8h11L20 13v6H4zM4 13h5l1 2.5h4l1-2.5h5";
pub(crate) const STACK: &str = "M4 6h16M4 10h16M4 14h10M4 18h10";
pub(crate) const PUSH: &str = "M5 12a7 7 0 0 1 14 0M8 12a4 4 0 0 1 8 0M12 12v8";
pub(crate) const HOOK: &str = "M9 8a3 3 0 1 1 4.5 2.6L10 17M7 14a3 3 0 1 0 3 4h7a3 3 0 1 0-1.5-3.5";
pub(crate) const PULSE: &str = "M3 12h4l3-7 4 14 3-7h4";
pub(crate) const GEAR: &str = "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.2 2.2M16.2 16.2l2.2 2.2M18.4 5.6l-2.2 2.2M7.8 16.2l-2.2 2.2";
pub(crate) const KEYBOARD: &str = "M3 7h18v10H3zM7 10.5h.01M11 10.5h.01M15 10.5h.01M8 14h8";
pub(crate) const LEAVE: &str = "M10 5H5v14h5M9 12h11M16 8l4 4-4 4";
pub(crate) const FILES: &str = "M12 4v11M8 11l4 4 4-4M5 19h14";

/// A drawing that says nothing to who cannot see it: its button has a name.
pub(crate) fn icon(path: &str) -> Markup {
    html! { svg .i viewBox="0 0 24 24" aria-hidden="true" { path d=(path); } }
}
