//! CPU time: what work costs, however busy the machine is with other things. The wall clock is never read.

use rustix::time::{ClockId, clock_gettime};

/// CPU seconds that this thread has used.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a day fit into 52 bits")]
fn used_secs() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// CPU seconds of some work in this thread, with what it takes to drop its result.
pub(crate) fn secs_of<T>(work: impl FnOnce() -> T) -> f64 {
    let before = used_secs();
    drop(std::hint::black_box(work()));
    used_secs() - before
}

/// The same work, measured several times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn add(&mut self, secs: f64) {
        self.0.push(secs);
        self.0.sort_by(f64::total_cmp);
    }

    /// The least: whatever disturbs a measurement only ever adds to it.
    pub(crate) fn best(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
