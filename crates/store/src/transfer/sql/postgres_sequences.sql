-- The sequences that give ids, with their tables and columns.
SELECT tables.relname::text, columns.attname::text, pg_get_serial_sequence(tables.oid::regclass::text, columns.attname)
FROM pg_attribute AS columns
JOIN pg_class AS tables ON tables.oid = columns.attrelid
WHERE tables.relnamespace = current_schema()::regnamespace
  AND tables.relkind = 'r'
  AND columns.attidentity <> ''
