//! The pieces of the dispatcher, stepped by hand.

mod beat;
mod faulty;
mod log;
mod look;
mod marks;
mod network;
mod queues;
mod scene;
mod simulation;
mod worker;
