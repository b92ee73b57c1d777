//! The pages in a real browser: Debian's chromium, driven over WebDriver. `scripts/with-browser` installs what they need;
//! without it they fail, and say so.

#![expect(clippy::unwrap_used, reason = "in a test, a surprise ends it")]

mod actions;
mod apps;
mod axe;
mod boards;
mod browser;
mod dashboards;
mod demo;
mod live;
mod login;
#[path = "../it/program.rs"]
#[expect(dead_code, reason = "the other tests of the program use the rest")]
mod program;
mod reader;
mod scene;
#[path = "../it/server.rs"]
#[expect(dead_code, reason = "the other tests of the program use the rest")]
mod server;
mod streams;
