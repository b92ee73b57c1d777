-- Indexes of these tables that no constraint needs: those can be dropped while a table is filled.
SELECT indexes.indexrelid::regclass::text, pg_get_indexdef(indexes.indexrelid)
FROM pg_index AS indexes
JOIN pg_class AS tables ON tables.oid = indexes.indrelid
WHERE tables.relnamespace = current_schema()::regnamespace
  AND tables.relname = ANY ($1)
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexes.indexrelid)
