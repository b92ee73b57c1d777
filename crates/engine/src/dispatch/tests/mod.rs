//! The pieces of the dispatcher, stepped by hand.

mod beat;
mod desk;
mod faulty;
mod network;
mod simulation;
mod worker;
