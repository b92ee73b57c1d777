//! The pieces of the dispatcher, stepped by hand.

mod beat;
mod faulty;
mod log;
mod marks;
mod network;
mod queues;
mod reread;
mod scene;
mod simulation;
mod worker;
