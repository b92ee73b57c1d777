-- Ids are taken first, so that the long texts need not be joined to the entries they belong to. There can be no
-- conflict: the feed's row is locked, and what is known was read under that lock.
WITH incoming AS MATERIALIZED (
    SELECT nextval('entries_id_seq') AS id, given.*
    FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::text[],
                $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::boolean[], $15::text[], $16::text[],
                $17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::bigint[])
        AS given (feed_id, folder_id, identity, guid, fingerprint, url, title, author, published_at, updated_at,
                  categories, enclosures, is_thin, summary, content, grams, words, link_trait, title_trait,
                  sort_at)
), new_entries AS (
    INSERT INTO entries (id, feed_id, folder_id, identity, fingerprint, guid, url, title, author, published_at, updated_at,
                         sort_at, received_at, changed_at, modified_at, categories, enclosures, is_thin, link_trait,
                         title_trait)
    OVERRIDING SYSTEM VALUE
    SELECT id, feed_id, folder_id, identity, fingerprint, guid, url, title, author, published_at, updated_at,
           sort_at, $1, $1, $1, categories, enclosures, is_thin, link_trait, title_trait
    FROM incoming
), new_bodies AS (
    INSERT INTO entry_bodies (entry_id, summary, content)
    SELECT id, summary, content
    FROM incoming
)
INSERT INTO entry_words (entry_id, sort_at, grams, words)
SELECT id, sort_at, array_to_tsvector(string_to_array(grams, ' ')), words
FROM incoming
RETURNING entry_id
