//! The real program, run as a user runs it.

mod commands;
mod crash;
mod parse;
mod program;
mod server;
