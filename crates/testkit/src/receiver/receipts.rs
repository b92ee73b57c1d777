//! What came to a path of a receiver, and waiting for it.

use super::{
    Receipt,
    state::{Path, State},
};
use crate::wire::Observable;

/// How many receipts are described when one is missing.
const DESCRIBED_MAX: usize = 50;

/// What came to a path.
#[derive(Debug)]
pub struct Receipts<'r> {
    pub(super) state: &'r Observable<State>,
    pub(super) path: String,
}

impl Receipts<'_> {
    /// All that were kept so far, in the order in which they came.
    pub fn all(&self) -> Vec<Receipt> {
        self.state.lock().paths.get(&self.path).map(|path| path.receipts.clone()).unwrap_or_default()
    }

    /// How many there were so far, kept or not.
    pub fn count(&self) -> usize {
        self.state.lock().paths.get(&self.path).map_or(0, |path| path.count)
    }

    /// How many of them did not verify although a secret was known.
    pub fn forged(&self) -> usize {
        self.state.lock().paths.get(&self.path).map_or(0, |path| path.forged)
    }

    /// Waits until there were so many or more, kept or not, and returns those that were kept.
    ///
    /// # Panics
    ///
    /// If that takes too long, with what there was.
    pub async fn wait_for(&self, count: usize) -> Vec<Receipt> {
        self.wait(&format!("{count} receipts"), |path| (path.count >= count).then(|| path.receipts.clone())).await
    }

    /// Waits until those that were kept are as the test wants them, and returns them.
    ///
    /// # Panics
    ///
    /// If that takes too long, with what there was.
    pub async fn wait_until(&self, what: &str, mut is_so: impl FnMut(&[Receipt]) -> bool) -> Vec<Receipt> {
        self.wait(what, |path| is_so(&path.receipts).then(|| path.receipts.clone())).await
    }

    pub(super) async fn wait<T>(&self, what: &str, mut find: impl FnMut(&Path) -> Option<T>) -> T {
        let what = format!("{what} on {}", self.path);
        self.state
            .wait(&what, |state| find(state.path(&self.path)), |state| describe(state.paths.get(&self.path)))
            .await
    }
}

fn describe(path: Option<&Path>) -> String {
    let Some(Path { receipts, count, active, .. }) = path else { return "nothing".to_owned() };
    let last = &receipts[receipts.len().saturating_sub(DESCRIBED_MAX)..];
    format!("{count} receipts, {} in flight; the last that were kept: {last:#?}", active.now)
}
