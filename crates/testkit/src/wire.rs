//! HTTP/1.1 by hand, for the publisher, the hub and the receiver: most of what they have to do (break off, reset, never
//! end) no server library does.
//!
//! ```text
//! Place ─> Converse ─> read_request ─> a script chooses a Page ─> respond
//!                             └─> Watched: what a test waits for
//! ```

mod gzip;
mod page;
mod place;
mod request;
mod respond;
mod watched;

pub use self::{
    page::{Gate, Page},
    request::Request,
};
pub(crate) use self::{
    place::{Converse, Place, Stream},
    request::{read_chunks, read_head, read_request, value_of},
    respond::{Outcome, respond, travel},
    watched::{Active, UnderWay, WAIT_MAX, Watched},
};
