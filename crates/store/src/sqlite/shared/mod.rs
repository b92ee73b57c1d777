//! What all topics of this store share.

pub(crate) mod backup;
pub(crate) mod batch;
pub(crate) mod checkpointer;
pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod errors;
pub(crate) mod files;
pub(crate) mod maintenance;
pub(crate) mod migrate;
pub(crate) mod queue;
pub(crate) mod readers;
pub(crate) mod writer;
