//! Push, whole: publisher, hub and server over real HTTP on loopback, on both stores, at a time that the test sets.

mod callback;
mod one_time;
mod renewal;
mod silence;
mod silent_database;
mod strangers;
mod suite;
mod traps;
mod world;
