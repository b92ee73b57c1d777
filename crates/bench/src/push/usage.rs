//! What a process and its database have used, read at the start and at the end of a measurement.

use serde::{Deserialize, Serialize};

use crate::{fixture::Fixture, process};

/// Counters that only rise; between two readings of them, what was used meanwhile.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) wall_secs: f64,
    pub(crate) cpu_secs: f64,
    pub(crate) database_cpu_secs: f64,
    /// The most memory ever.
    pub(crate) peak_bytes: usize,
}

impl Usage {
    pub(crate) fn now(fixture: Option<&Fixture>) -> anyhow::Result<Self> {
        Ok(Self {
            wall_secs: process::wall_secs(),
            cpu_secs: process::cpu_secs(),
            database_cpu_secs: fixture.map_or(0.0, Fixture::database_cpu_secs),
            peak_bytes: process::peak_bytes()?,
        })
    }

    pub(crate) fn since(self, start: Self) -> Self {
        Self {
            wall_secs: self.wall_secs - start.wall_secs,
            cpu_secs: self.cpu_secs - start.cpu_secs,
            database_cpu_secs: self.database_cpu_secs - start.database_cpu_secs,
            peak_bytes: self.peak_bytes,
        }
    }
}
