//! How long a hub that calls us waits: one time for all that its call waits for, however many things those are.

use std::time::Duration;

use domain::ports::{StoreError, StoreResult};
use tokio::time::{Instant, timeout};

/// What is left of the time in which a call of a hub is answered. Whatever it waits for takes from it: a place, its turn,
/// the store. What the hub takes to send, and we to read its document, does not: a slow line and a large document are no
/// reasons to refuse a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLeft(Duration);

impl TimeLeft {
    /// All of the time, for a call that has just come in.
    pub fn new(limit: Duration) -> Self {
        Self(limit)
    }

    /// Waits for something as long as there is time.
    pub async fn wait<T>(&mut self, call: impl Future<Output = T>) -> Option<T> {
        self.wait_leaving(Duration::ZERO, call).await
    }

    /// The same, but so much is left after it.
    pub async fn wait_leaving<T>(&mut self, rest: Duration, call: impl Future<Output = T>) -> Option<T> {
        let begun = Instant::now();
        let answer = timeout(self.0.saturating_sub(rest), call).await;
        self.0 = self.0.saturating_sub(begun.elapsed());
        answer.ok()
    }

    /// Asks the store. What was to be stored may be, and is once more when the hub comes again: that changes nothing.
    pub(super) async fn ask<T>(&mut self, call: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
        let late = || Err(StoreError::Unavailable("the store did not answer in time".to_owned()));
        self.wait(call).await.unwrap_or_else(late)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::sleep;

    use super::*;
    use crate::PushSettings;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn u4_w7_all_waits_of_a_call_share_one_time() {
        let (begun, mut time) = (Instant::now(), TimeLeft::new(SECOND * 5));
        assert_eq!(time.wait(sleep(SECOND * 3)).await, Some(()));
        // What takes time without being waited for here is not counted.
        sleep(SECOND * 60).await;
        assert_eq!(time.wait_leaving(SECOND, pending::<()>()).await, None);
        assert!(time.0 <= SECOND && time.0 > SECOND.mul_f64(0.9), "{time:?}");
        assert_eq!(time.ask(ready(Ok("quick"))).await, Ok("quick"));
        for _ in 0..3 {
            assert!(matches!(time.ask(pending::<StoreResult<()>>()).await, Err(StoreError::Unavailable(_))));
        }
        assert_eq!(time, TimeLeft::new(Duration::ZERO));
        assert_eq!(begun.elapsed().as_secs(), 65);
    }

    #[test]
    fn u4_hubs_are_told_within_five_seconds() {
        assert!(PushSettings::default().answer_timeout <= Duration::from_millis(4500));
    }
}
