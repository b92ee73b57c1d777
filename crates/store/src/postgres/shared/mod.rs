//! What all topics of this store share.

pub(crate) mod claim_bounds;
pub(crate) mod clock;
pub(crate) mod connect;
pub(crate) mod errors;
pub(crate) mod hosts;
pub(crate) mod lending;
pub(crate) mod maintenance;
pub(crate) mod migrate;
pub(crate) mod plan;
pub(crate) mod pooler;
pub(crate) mod read_only;
pub(crate) mod tls;
pub(crate) mod values;
