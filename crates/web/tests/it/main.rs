//! The server over real HTTP on loopback. Names say which rows of the specification they show.

#![expect(clippy::unwrap_used, reason = "in a test, what does not go as planned is a failure")]
#![expect(unreachable_pub, reason = "the modules of a test are there for one another")]

mod accounts;
mod apps;
mod bad_input;
mod described;
mod entries;
mod events;
mod feeds;
mod folders;
mod guard;
mod observed;
mod opml;
mod page;
mod push;
mod raw;
mod refresh;
mod server;
mod slow_clients;
mod store_down;
mod stubs;
mod webhooks;
mod world;
