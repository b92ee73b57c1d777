//! The engine over real HTTP on loopback and real stores. Tests wait for what happened, never for time to pass.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that goes wrong")]

mod add;
mod dispatch;
mod guard;
mod icons;
mod leases;
mod moving;
mod opml;
mod outage;
mod pictures;
mod poll;
mod trouble;
mod watched;
mod world;
mod year;
