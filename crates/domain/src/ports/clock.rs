//! Time and chance, which come in from outside so that tests can set them.

use jiff::Timestamp;

pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> Timestamp;
}

/// Makes what must be unlike anything before it.
pub trait Ids: Send + Sync + std::fmt::Debug {
    /// Fills the bytes with chance.
    fn fill(&self, bytes: &mut [u8]);

    /// An owner of leases, unique to a process's life.
    fn owner(&self) -> String {
        let mut bytes = [0; 12];
        self.fill(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A number from 0 to 1, 1 excluded, for jitter.
    fn fraction(&self) -> f64 {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
    }
}
