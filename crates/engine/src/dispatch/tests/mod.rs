//! The pieces of the dispatcher, stepped by hand.

mod beat;
mod desk;
mod faulty;
mod gather;
mod log;
mod look;
mod network;
mod scene;
mod simulation;
mod worker;
