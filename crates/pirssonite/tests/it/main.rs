//! The real program, run as a user runs it.

#![expect(clippy::unwrap_used, reason = "in a test, a surprise ends it")]

mod commands;
mod crash;
mod deliver;
mod doctor;
mod harness;
mod import;
mod lost_database;
mod metrics;
mod names;
mod open_files;
mod parse;
mod program;
mod push;
mod server;
mod surroundings;
mod tls;
mod together;
mod webhook;
