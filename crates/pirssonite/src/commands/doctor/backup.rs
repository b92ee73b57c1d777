//! When the database was last backed up.

use jiff::{SignedDuration, Timestamp};
use store::transfer;

use super::Finding;
use crate::{settings::Settings, wiring};

const WHAT: &str = "backup";

/// A backup that is older is worth a word.
const OLD: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Nothing, if the database does not say.
pub(super) async fn judge(settings: &Settings) -> Option<Finding> {
    let last = transfer::last_backup(&wiring::place(settings)).await.ok()?;
    Some(finding(last.and_then(|millis| Timestamp::from_millisecond(millis).ok()), wiring::now()))
}

fn finding(last: Option<Timestamp>, now: Timestamp) -> Finding {
    let Some(last) = last else {
        return Finding::noted(WHAT, "none was made yet: `pirssonite backup FILE` makes one, also while it runs");
    };
    let at = last.strftime("%Y-%m-%d %H:%M UTC");
    if now.duration_since(last) > OLD {
        return Finding::noted(WHAT, format!("the last was made on {at}, over a week ago"));
    }
    Finding::fine(WHAT, format!("the last was made on {at}"))
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    #[test]
    fn p4_doctor_says_when_the_last_backup_was() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let check = |last: Option<&str>, expect: Severity, says: &str| {
            let finding = finding(last.map(at), at("2026-03-10T12:00:00Z"));
            assert!(finding.severity == expect && finding.says.contains(says), "{last:?}: {}", finding.says);
        };
        check(None, Severity::Noted, "none was made yet");
        check(Some("2026-03-09T08:30:00Z"), Severity::Fine, "2026-03-09 08:30 UTC");
        check(Some("2026-03-01T08:30:00Z"), Severity::Noted, "over a week ago");
    }
}
