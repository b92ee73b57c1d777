//! HTTP/1.1 by hand, for the publisher, the hub and the receiver: most of what they have to do (break off, reset, never
//! end) no server library does.
//!
//! ```text
//! Listener ─> ConnectionHandler ─> read_request ─> a script chooses a Page ─> respond
//!                             └─> Observable: what a test waits for
//! ```

mod gzip;
mod listener;
mod observable;
mod page;
mod request;
mod respond;

pub(crate) use self::{
    listener::{ConnectionHandler, Listener, Stream},
    observable::{InFlightCount, InFlightGuard, Observable, WAIT_MAX},
    request::{read_chunks, read_head, read_request, value_of},
    respond::{Outcome, network_delay, respond},
};
pub use self::{
    page::{Gate, Page},
    request::Request,
};
