//! The real program, run as a user runs it.

#![expect(clippy::unwrap_used, reason = "in a test, a surprise ends it")]

mod accounts;
mod commands;
mod copy;
mod crash;
mod deliver;
mod demo;
mod discover;
mod doctor;
mod entries;
mod folders;
mod harness;
mod help;
mod import;
mod lost_database;
mod memory;
mod metrics;
mod names;
mod open_files;
mod packaging;
mod parse;
mod program;
mod push;
mod readme;
mod requirements;
mod server;
mod service;
mod surroundings;
mod terminal;
mod tls;
mod together;
mod webhook;
