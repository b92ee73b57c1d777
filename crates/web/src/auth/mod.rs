//! Who asks, and what they may do.

mod actor;
mod viewer;

pub(crate) use actor::{Actor, Admin};
