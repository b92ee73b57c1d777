-- Differs from the other store: the other store returns the row, with columns that several statements share (UPDATE).
-- One that was disabled and is enabled is well; at another URL is another receiver.
UPDATE webhooks
SET failures = iif(?4 IS 1 AND NOT enabled OR ?2 <> url, 0, failures),
    failing_since = iif(?4 IS 1 AND NOT enabled OR ?2 <> url, NULL, failing_since),
    failed_at = iif(?4 IS 1 AND NOT enabled OR ?2 <> url, NULL, failed_at),
    probes = iif(?4 IS 1 AND NOT enabled OR ?2 <> url, 0, probes),
    probe_at = iif(?4 IS 1 AND NOT enabled OR ?2 <> url, NULL, probe_at),
    probe_new_at = iif(?4 IS 1 AND NOT enabled OR ?2 <> url, NULL, probe_new_at),
    held_until = iif(?4 IS 1 AND NOT enabled OR ?2 <> url, NULL, held_until),
    disabled_reason = iif(?4 IS 1 AND NOT enabled, NULL, disabled_reason),
    url = coalesce(?2, url),
    description = iif(?3, ?5, description),
    enabled = coalesce(?4, enabled),
    event_types = iif(?6, ?7, event_types),
    feed_ids = iif(?8, ?9, feed_ids),
    folder_ids = iif(?10, ?11, folder_ids),
    headers = coalesce(?12, headers),
    include_content = coalesce(?13, include_content),
    backlog = coalesce(?14, backlog),
    rate_per_second = iif(?15, ?16, rate_per_second)
WHERE id = ?1
