UPDATE webhooks
SET failures = ?2,
    failing_since = ?3,
    failed_at = ?4,
    probes = ?5,
    probe_at = ?6,
    probe_new_at = ?7,
    held_until = ?8
WHERE id = ?1
