-- An entry's guid is the first that it had. The latest time of change that it named stays: older versions are known by
-- it.
WITH incoming AS MATERIALIZED (
    SELECT *
    FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
                $10::text[], $11::text[], $12::boolean[], $13::text[], $14::text[], $15::text[], $16::text[],
                $17::bigint[], $18::bigint[])
        AS given (id, guid, fingerprint, url, title, author, published_at, updated_at, categories, enclosures,
                  is_thin, summary, content, grams, words, link_trait, title_trait)
), changed_entries AS (
    UPDATE entries
    SET fingerprint = incoming.fingerprint,
        link_trait = incoming.link_trait,
        title_trait = incoming.title_trait,
        url = incoming.url,
        title = incoming.title,
        author = incoming.author,
        published_at = incoming.published_at,
        updated_at = greatest(entries.updated_at, incoming.updated_at),
        categories = incoming.categories,
        enclosures = incoming.enclosures,
        is_thin = incoming.is_thin,
        changed_at = $1
    FROM incoming
    WHERE entries.id = incoming.id
), changed_bodies AS (
    UPDATE entry_bodies
    SET summary = incoming.summary,
        content = incoming.content
    FROM incoming
    WHERE entry_bodies.entry_id = incoming.id
)
UPDATE entry_words
SET grams = array_to_tsvector(string_to_array(incoming.grams, ' ')),
    words = incoming.words
FROM incoming
WHERE entry_words.entry_id = incoming.id
