SELECT (SELECT count(*) FROM feeds),
       (SELECT count(*) FROM feeds INDEXED BY feeds_due WHERE is_gone = 0 AND next_check_at <= ?1),
       (SELECT count(*) FROM feeds INDEXED BY feeds_failing WHERE failure_count > 0 AND is_gone = 0),
       (SELECT count(*) FROM feeds INDEXED BY feeds_pushed WHERE is_pushed = 1),
       (SELECT count(*) FROM feeds INDEXED BY feeds_gone WHERE is_gone = 1)
