-- Differs from the other store: many at once, where the other store writes one by one.
UPDATE folders
SET position = given.place
FROM unnest($1::bigint[]) WITH ORDINALITY AS given (id, place)
WHERE folders.id = given.id
