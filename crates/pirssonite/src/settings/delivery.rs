//! How deliveries are set.

use std::{collections::BTreeMap, time::Duration};

use domain::{
    LeaseTime,
    delivery::{ATTEMPTS_KEPT_MAX, BreakerRules, OutboxLimits, RetryRules},
};
use engine::DeliverySettings;

use super::{
    Raw, SettingsError, get,
    value::{duration, parse_number, part, some_time},
};

/// How long a webhook may take to answer, at most: so long its place is taken.
const TIMEOUT_MAX: Duration = Duration::from_mins(5);

pub(super) fn read(raw: &BTreeMap<&'static str, Raw>) -> Result<DeliverySettings, SettingsError> {
    let (retry_max, usual) = (get(raw, "retry_max", some_time)?, DeliverySettings::default());
    let breaker = BreakerRules {
        open_after: get(raw, "breaker_failures", |text| parse_number(text, 1, 10_000))?,
        probe_first: get(raw, "probe_first", some_time)?,
        probe_max: get(raw, "probe_max", some_time)?,
        disable_after: get(raw, "disable_after", some_time)?,
        retry_max,
    };
    Ok(DeliverySettings {
        lease: get(raw, "delivery_lease", lease)?,
        timeout: get(raw, "delivery_timeout", timeout)?,
        concurrency: get(raw, "delivery_concurrency", |text| parse_number(text, 1, 10_000))?,
        webhook_concurrency: get(raw, "webhook_concurrency", |text| parse_number(text, 1, 10_000))?,
        retry: RetryRules {
            first: get(raw, "retry_first", some_time)?,
            max: retry_max,
            // As many as are kept of one.
            attempts: get(raw, "retry_attempts", |text| parse_number(text, 1, ATTEMPTS_KEPT_MAX))?,
            jitter: get(raw, "retry_jitter", part)?,
            budget: get(raw, "retry_budget", |text| parse_number(text, 0, ATTEMPTS_KEPT_MAX))?,
        },
        breaker,
        limits: OutboxLimits {
            delivered_older_than: get(raw, "keep_delivered", some_time)?,
            failed_older_than: get(raw, "keep_failed", some_time)?,
            ..usual.limits
        },
        ..usual
    })
}

/// A lease that beats can keep.
fn lease(text: &str) -> Result<LeaseTime, String> {
    LeaseTime::new(duration(text)?).map_err(|wrong| wrong.to_string())
}

fn timeout(text: &str) -> Result<Duration, String> {
    let timeout = some_time(text)?;
    if timeout > TIMEOUT_MAX { Err("write 5m or less".to_owned()) } else { Ok(timeout) }
}
