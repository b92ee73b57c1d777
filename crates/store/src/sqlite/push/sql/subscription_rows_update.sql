-- All that may change.
UPDATE subscriptions
SET base_url = ?2,
    state = ?3,
    is_current = ?4,
    lease_secs = ?5,
    expires_at = ?6,
    activated_at = ?7,
    verified_at = ?8,
    asked = ?9,
    verify_by = ?10,
    error_count = ?11,
    last_error = ?12,
    last_push_at = ?13,
    push_count = ?14,
    miss_count = ?15,
    misses_in_row = ?16,
    secrets = ?17,
    next_step_at = ?18,
    retry_at = ?19
WHERE id = ?1
