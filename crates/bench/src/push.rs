//! Push: what a signed push costs until it is on the disk, and what it costs to renew many subscriptions.
//!
//! Whatever is measured runs in a process of its own, and so do the hub and the publisher. All of them share the
//! machine's cores with the load, so a rate is that of the whole; the CPU time is the measured process's alone.

pub(crate) mod hub;
pub(crate) mod load;
pub(crate) mod receive;
pub(crate) mod renew;
pub(crate) mod server;
pub(crate) mod subscriptions;
pub(crate) mod usage;

use clap::ValueEnum;

use crate::report::Tally;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Signed pushes.
    Receive,
    /// Renewals.
    Renew,
}

/// Measures one part, or both.
pub(crate) fn run(tally: &mut Tally, only: Option<Part>) -> anyhow::Result<()> {
    if only != Some(Part::Renew) {
        receive::run(tally)?;
    }
    if only != Some(Part::Receive) {
        renew::run(tally)?;
    }
    Ok(())
}

/// How busy the machine was of late, and so how far to trust a rate.
pub(crate) fn load_average() -> String {
    let averages = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    averages.split_ascii_whitespace().next().unwrap_or("unknown").to_owned()
}
