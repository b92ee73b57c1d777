-- Another address is another document: nothing that was learnt at the old one holds, and whoever polls that just now
-- has lost the lease.
UPDATE feeds
SET url = ?2,
    url_hash = ?3,
    credentials = ?4,
    etag = NULL,
    last_modified = NULL,
    body_hash = NULL,
    failure_count = 0,
    last_error = NULL,
    is_gone = 0,
    hubs = '[]',
    topic_url = NULL,
    next_check_at = ?5,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
