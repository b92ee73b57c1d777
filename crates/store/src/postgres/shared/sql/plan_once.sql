-- Differs from the other store: the other store plans no statement anew for its values.
-- Statements over arrays are planned anew at every call, because the database hopes to learn from their values, and so are
-- long ones: that takes longer than what they do. One plan is kept instead. It may be made while the tables are empty, so
-- it must not be one that reads whole tables, or whole indexes into a bitmap.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true)
