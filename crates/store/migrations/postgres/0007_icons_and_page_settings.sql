-- The icons of feeds, what accounts want of pages, and the key that addresses of pictures are signed with.
-- Twin of sqlite/0007_icons_and_page_settings.sql.
--
-- Whoever locks rows of feeds and of feed_icons locks those of feeds first; rows of icons before rows of feed_icons.

-- What the last document of a feed called its icon, and its larger picture.
ALTER TABLE feeds ADD COLUMN icon_url text, ADD COLUMN logo_url text;

-- Each once for all feeds that have the same. A number is never given twice: browsers keep what is behind it for good.
CREATE TABLE icons (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash      bytea  NOT NULL UNIQUE,
    mime      text   NOT NULL,
    bytes     bytea  NOT NULL,
    -- When it was last found. One that nobody has goes some time after that.
    found_at  bigint NOT NULL
);

-- When the icon of a feed is to be looked for: a row for each that was ever fetched.
CREATE TABLE feed_icons (
    feed_id    bigint PRIMARY KEY REFERENCES feeds (id) ON DELETE CASCADE,
    -- NULL: it has none.
    icon_id    bigint,
    due_at     bigint NOT NULL DEFAULT 0,
    looked_at  bigint NOT NULL DEFAULT 0,
    failures   bigint NOT NULL DEFAULT 0
);

CREATE INDEX feed_icons_due ON feed_icons (due_at, feed_id);
CREATE INDEX feed_icons_by_icon ON feed_icons (icon_id) WHERE icon_id IS NOT NULL;

INSERT INTO feed_icons (feed_id) SELECT id FROM feeds WHERE last_fetched_at IS NOT NULL;

-- A feed that is fetched for the first time is looked at; one whose addresses are others since, too, but not twice a day
-- (86400000 ms): some name another with every document.
CREATE FUNCTION pirssonite_want_icon() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO feed_icons (feed_id) VALUES (new.id)
    ON CONFLICT (feed_id) DO UPDATE SET due_at = least(feed_icons.due_at, feed_icons.looked_at + 86400000);
    RETURN NULL;
END;
$$;

CREATE TRIGGER feeds_want_icons AFTER UPDATE OF url, site_url, icon_url, logo_url, last_fetched_at ON feeds
    FOR EACH ROW
    WHEN (new.last_fetched_at IS NOT NULL
          AND (old.last_fetched_at IS NULL
               OR (new.url, new.site_url, new.icon_url, new.logo_url)
                  IS DISTINCT FROM (old.url, old.site_url, old.icon_url, old.logo_url)))
    EXECUTE FUNCTION pirssonite_want_icon();

-- What an account wants of pages, a JSON object; what it does not name is as it is for everybody.
ALTER TABLE accounts ADD COLUMN page_settings text NOT NULL DEFAULT '{}';

-- Unlike `key` it is shown nowhere.
ALTER TABLE installation ADD COLUMN picture_key text NOT NULL DEFAULT '';
UPDATE installation SET picture_key = replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
