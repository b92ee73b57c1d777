//! A clock that was set back: what is to happen later would wait until it has caught up. So the latest time that was seen
//! is kept, and when the clock shows much less, all later times are moved by the difference. (Leases look after
//! themselves: none counts for longer than it was taken for.)

use std::time::Duration;

/// A clock that is set right by less than this is left alone: what waits a minute longer is not late.
const SLACK_MS: i64 = 60_000;

/// A lease that seems to count for longer than its own length and this was taken before the clock was set back: it does
/// not count. Statements have it as the literal 60000.
pub(crate) const LEASE_SLACK_MS: i64 = 60_000;

/// Times at which something is to happen, by table: the table, its columns, and which of its rows have any. In the order
/// in which rows of several tables are locked.
const LATER: [(&str, &[&str], &str); 5] = [
    ("feeds", &["next_check_at"], "next_check_at > "),
    ("feed_icons", &["due_at"], "due_at > "),
    ("subscriptions", &["next_step_at", "verify_by", "retry_at", "expires_at"], "next_step_at > "),
    (
        "webhooks",
        &["held_until", "probe_at", "probe_new_at", "rate_at", "failing_since", "failed_at"],
        "deleted_at IS NULL AND 0 < ",
    ),
    ("deliveries", &["next_attempt_at"], "status = 'pending' AND next_attempt_at > "),
];

/// By how much a clock was set back that had shown one time and now shows another.
pub(crate) fn set_back(seen_ms: i64, now_ms: i64) -> Option<i64> {
    let back_ms = seen_ms.saturating_sub(now_ms);
    (back_ms > SLACK_MS).then_some(back_ms)
}

/// The statements that move all that is later than `now` by `back`, given as these places in a statement.
pub(crate) fn moves(now: &str, back: &str) -> Vec<String> {
    LATER
        .iter()
        .map(|(table, columns, are_later)| {
            let set: Vec<String> = columns
                .iter()
                .map(|column| format!("{column} = CASE WHEN {column} > {now} THEN {column} - {back} ELSE {column} END"))
                .collect();
            format!("UPDATE {table} SET {} WHERE {are_later}{now}", set.join(", "))
        })
        .collect()
}

pub(crate) fn duration(back_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(back_ms).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_right_by_a_little_is_left_alone() {
        for (seen, now, expect) in [
            (0, 1_000_000, None),
            (1_000_000, 1_000_000, None),
            (1_060_000, 1_000_000, None),
            (1_060_001, 1_000_000, Some(60_001)),
        ] {
            assert_eq!(set_back(seen, now), expect, "{seen} {now}");
        }
    }
}
