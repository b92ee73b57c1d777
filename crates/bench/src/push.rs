//! Push: what a signed push costs until it is on the disk, and what it costs to renew many subscriptions.
//!
//! Whatever is measured runs in a process of its own, and so do the hub and the publisher. All of them share the
//! machine's cores with the load, so a rate is that of the whole; the CPU time is the measured process's alone.

pub(crate) mod hub;
mod load;
pub(crate) mod receive;
pub(crate) mod renew;
pub(crate) mod server;
mod subscriptions;
mod usage;

use crate::report::Tally;

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    receive::run(tally)?;
    renew::run(tally)
}

/// How busy the machine was of late, and so how far to trust a rate.
fn load_average() -> String {
    let averages = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    averages.split_ascii_whitespace().next().unwrap_or("unknown").to_owned()
}
