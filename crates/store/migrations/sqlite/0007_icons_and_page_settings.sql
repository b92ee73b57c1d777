-- The icons of feeds, what accounts want of pages, and the key that addresses of pictures are signed with.
-- Twin of postgres/0007_icons_and_page_settings.sql.

-- What the last document of a feed called its icon, and its larger picture.
ALTER TABLE feeds ADD COLUMN icon_url TEXT;
ALTER TABLE feeds ADD COLUMN logo_url TEXT;

-- Each once for all feeds that have the same. A number is never given twice: browsers keep what is behind it for good.
CREATE TABLE icons (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    hash      BLOB    NOT NULL UNIQUE,
    mime      TEXT    NOT NULL,
    bytes     BLOB    NOT NULL,
    -- When it was last found. One that nobody has goes some time after that.
    found_at  INTEGER NOT NULL
);

-- When the icon of a feed is to be looked for: a row for each that was ever fetched.
CREATE TABLE feed_icons (
    feed_id    INTEGER PRIMARY KEY REFERENCES feeds (id) ON DELETE CASCADE,
    -- NULL: it has none.
    icon_id    INTEGER,
    due_at     INTEGER NOT NULL DEFAULT 0,
    looked_at  INTEGER NOT NULL DEFAULT 0,
    failures   INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX feed_icons_due ON feed_icons (due_at, feed_id);
CREATE INDEX feed_icons_by_icon ON feed_icons (icon_id) WHERE icon_id IS NOT NULL;

INSERT INTO feed_icons (feed_id) SELECT id FROM feeds WHERE last_fetched_at IS NOT NULL;

-- A feed that is fetched for the first time is looked at; one whose addresses are others since, too, but not twice a day
-- (86400000 ms): some name another with every document.
CREATE TRIGGER feeds_want_icons AFTER UPDATE OF url, site_url, icon_url, logo_url, last_fetched_at ON feeds
WHEN new.last_fetched_at IS NOT NULL
 AND (old.last_fetched_at IS NULL OR new.url IS NOT old.url OR new.site_url IS NOT old.site_url
      OR new.icon_url IS NOT old.icon_url OR new.logo_url IS NOT old.logo_url)
BEGIN
    INSERT INTO feed_icons (feed_id) VALUES (new.id)
    ON CONFLICT (feed_id) DO UPDATE SET due_at = min(due_at, looked_at + 86400000);
END;

-- What an account wants of pages, a JSON object; what it does not name is as it is for everybody.
ALTER TABLE accounts ADD COLUMN page_settings TEXT NOT NULL DEFAULT '{}';

-- Unlike `key` it is shown nowhere.
ALTER TABLE installation ADD COLUMN picture_key TEXT NOT NULL DEFAULT '';
UPDATE installation SET picture_key = lower(hex(randomblob(32)));
