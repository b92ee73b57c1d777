-- All that may change and that no index knows; what an index knows is added if it has changed.
UPDATE subscriptions
SET base_url = ?6,
    lease_secs = ?7,
    activated_at = ?8,
    verified_at = ?9,
    asked = ?10,
    verify_by = ?11,
    error_count = ?12,
    last_error = ?13,
    last_push_at = ?14,
    push_count = ?15,
    miss_count = ?16,
    misses_in_row = ?17,
    secrets = ?18,
    retry_at = ?19
