//! What is logged on the thread of a test, and so by that test alone.
//!
//! One subscriber serves all threads: with one of its own, a test could miss what a callsite says that another thread,
//! without any, was the first to come by.

use std::{cell::RefCell, io, sync::Once};

use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

thread_local! {
    static HEARD: RefCell<Heard> = const { RefCell::new(Heard { is_listening: false, text: Vec::new() }) };
}

struct Heard {
    is_listening: bool,
    text: Vec<u8>,
}

/// Somebody listens, until this is dropped.
pub(super) struct Listening;

/// What this thread logs is kept from now on.
pub(super) fn listen() -> Listening {
    static SUBSCRIBED: Once = Once::new();
    SUBSCRIBED.call_once(|| {
        tracing_subscriber::fmt().with_max_level(Level::DEBUG).with_writer(ToThread).with_ansi(false).init();
    });
    HEARD.with_borrow_mut(|heard| heard.is_listening = true);
    Listening
}

/// What was logged since this was last asked.
pub(super) fn take() -> String {
    String::from_utf8(HEARD.with_borrow_mut(|heard| std::mem::take(&mut heard.text))).unwrap()
}

impl Drop for Listening {
    fn drop(&mut self) {
        HEARD.with_borrow_mut(|heard| heard.is_listening = false);
    }
}

struct ToThread;

impl<'w> MakeWriter<'w> for ToThread {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        Self
    }
}

impl io::Write for ToThread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        HEARD.with_borrow_mut(|heard| {
            if heard.is_listening {
                heard.text.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
