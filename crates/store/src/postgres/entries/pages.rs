//! The statements of pages. Every kind of page is one walk of an index over what an account has of entries, either way round;
//! that of a feed walks the feed's entries, and looks up what the account has of each. A page of changes looks at so many
//! rows and no more. A page is cut where its texts are too long by the database, which knows their lengths without
//! reading them: what is cut off is never sent.

use deadpool_postgres::{Client, GenericClient};
use domain::{
    AccountId, Cursor, EntryFilter, EntryId,
    entry::{Order, PAGE_TEXT_BYTES_MAX, PAGE_WALK_MAX, Since},
};
use tokio_postgres::{Error, IsolationLevel, Row, types::ToSql};

use crate::postgres::{
    query, query_opt,
    shared::values::{time, usize_to_i64},
};

/// Where in a row of a page the time stands that the page goes by.
pub(crate) const TIME_AT: usize = 16;
/// And whether there is a row after it.
pub(crate) const HAS_NEXT_AT: usize = 17;

/// Which rows a page wants: one more than it shows, to know whether there is a next page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageQuery<'a> {
    pub(crate) account: AccountId,
    pub(crate) filter: &'a EntryFilter,
    pub(crate) after: Option<Cursor>,
    pub(crate) rows: usize,
}

impl PageQuery<'_> {
    /// What comes after: without a cursor, everything. Where a walk begins is one condition: of two the planner might take
    /// the lesser.
    pub(crate) fn position(&self) -> (i64, i64) {
        let after = self.after.map(|cursor| (cursor.at.as_millisecond(), cursor.id.0));
        match self.filter.order {
            Order::Newest if self.walks_feed() => after.unwrap_or((i64::MAX, i64::MAX)),
            Order::Oldest if self.walks_feed() => after.unwrap_or((i64::MIN, i64::MIN)),
            Order::Newest => after.unwrap_or((i64::MAX, i64::MAX)).min((self.until(), i64::MAX)),
            Order::Oldest => after.max(self.since().map(|since| (since, i64::MIN))).unwrap_or((i64::MIN, i64::MIN)),
        }
    }

    fn since(&self) -> Option<i64> {
        self.filter.since.map(|(Since::Received(at) | Since::Changed(at))| at.as_millisecond())
    }

    fn until(&self) -> i64 {
        let until = self.filter.until.filter(|_| self.is_of_receipt());
        until.map_or(i64::MAX, jiff::Timestamp::as_millisecond)
    }

    fn is_of_receipt(&self) -> bool {
        matches!(self.filter.since, Some(Since::Received(_)))
    }

    /// The column of the time that the page goes by.
    fn key(&self) -> &'static str {
        match self.filter.since {
            None => "sort_at",
            Some(Since::Received(_)) => "received_at",
            Some(Since::Changed(_)) => "modified_at",
        }
    }

    pub(crate) fn limit(&self) -> i64 {
        usize_to_i64(self.rows)
    }

    /// `<` or `>`: how what comes after compares with the position.
    pub(crate) fn comes_after(&self) -> &'static str {
        match self.filter.order {
            Order::Newest => "<",
            Order::Oldest => ">",
        }
    }

    /// The order by two columns, as it stands in a statement.
    pub(crate) fn order_by(&self, time: &str, id: &str) -> String {
        match self.filter.order {
            Order::Newest => format!("ORDER BY {time} DESC, {id} DESC"),
            Order::Oldest => format!("ORDER BY {time}, {id}"),
        }
    }

    /// A walk of what is on the page but for its words, with their marks: where it goes, and its order. What follows limits it.
    pub(crate) fn walk(&self) -> String {
        self.walk_of(", is_read, is_starred, received_at")
    }

    /// The same with these columns of `entry_states` besides id and time.
    fn walk_of(&self, columns: &str) -> String {
        if self.walks_feed() && self.is_of_receipt() {
            return self.walk_of_feed_received(columns);
        }
        if self.walks_feed() {
            return format!(
                "
            SELECT entries.id, entries.sort_at AS at{}
            FROM entries
            CROSS JOIN LATERAL (
                SELECT is_read, is_starred, received_at
                FROM entry_states
                WHERE entry_states.entry_id = entries.id
                  AND entry_states.account_id = $4{}
                LIMIT 1
            ) AS state
            WHERE entries.feed_id = $5
              AND (entries.sort_at, entries.id) {} ($1, $2)
            {}",
                columns.replace(", ", ", state."),
                self.kind(),
                self.comes_after(),
                self.order_by("entries.sort_at", "entries.id"),
            );
        }
        let key = self.key();
        format!(
            "
            SELECT entry_states.entry_id AS id, entry_states.{key} AS at{columns}
            FROM entry_states
            WHERE {}{}
            {}",
            self.conditions(),
            self.window(),
            self.order_by(&format!("entry_states.{key}"), "entry_states.entry_id"),
        )
    }

    /// Those of a feed in the order that they were received: that of their ids, for whoever follows it since whenever. Each
    /// is asked for its time.
    fn walk_of_feed_received(&self, columns: &str) -> String {
        let (compare, window_at) = (self.comes_after(), 4 + self.ids().len());
        let direction = match self.filter.order {
            Order::Newest => " DESC",
            Order::Oldest => "",
        };
        format!(
            "
            SELECT entries.id, state.received_at AS at{}
            FROM entries
            CROSS JOIN LATERAL (
                SELECT is_read, is_starred, received_at
                FROM entry_states
                WHERE entry_states.entry_id = entries.id
                  AND entry_states.account_id = $4{}
                  AND entry_states.received_at BETWEEN ${window_at} AND ${}
                LIMIT 1
            ) AS state
            WHERE entries.feed_id = $5
              AND $1::bigint IS NOT NULL
              AND entries.id {compare} $2
            ORDER BY entries.id{direction}",
            columns.replace(", ", ", state."),
            self.kind(),
            window_at + 1,
        )
    }

    /// The end of the walk, where it has one: a condition on what its [values](Self::window_values) are.
    fn window(&self) -> String {
        let at = 4 + self.ids().len();
        match self.filter.order {
            _ if !self.is_of_receipt() => String::new(),
            Order::Newest => format!("\n      AND entry_states.received_at >= ${at}"),
            Order::Oldest => format!("\n      AND entry_states.received_at <= ${at}"),
        }
    }

    pub(crate) fn window_values(&self) -> Vec<i64> {
        let (since, until) = (self.since().unwrap_or(i64::MIN), self.until());
        match self.filter.order {
            _ if !self.is_of_receipt() => vec![],
            _ if self.walks_feed() => vec![since, until],
            Order::Newest => vec![since],
            Order::Oldest => vec![until],
        }
    }

    /// A page of a feed has no index of its account's, unless it is of what is marked: those are few.
    fn walks_feed(&self) -> bool {
        self.filter.feed_id.is_some() && self.filter.unread != Some(true) && self.filter.starred != Some(true)
    }

    /// The conditions of the filter but for its words, on `entry_states`, with `$1` and `$2` for the position and `$4` for the
    /// account.
    pub(crate) fn conditions(&self) -> String {
        format!(
            "entry_states.account_id = $4\n      AND (entry_states.{}, entry_states.entry_id) {} ($1, $2){}",
            self.key(),
            self.comes_after(),
            self.kind()
        )
    }

    /// The same without position and account. What each index is for stands as it is, because one over a part of the rows
    /// serves no condition that is only known later.
    fn kind(&self) -> String {
        let mut kind = String::new();
        if self.filter.feed_id.is_some() {
            kind.push_str("\n      AND entry_states.feed_id = $5");
        }
        if self.filter.folder_id.is_some() {
            let place = if self.filter.feed_id.is_some() { "$6" } else { "$5" };
            kind.push_str("\n      AND entry_states.folder_id = ");
            kind.push_str(place);
        }
        kind.push_str(match self.filter.unread {
            Some(true) => "\n      AND NOT entry_states.is_read",
            Some(false) => "\n      AND entry_states.is_read",
            None => "",
        });
        kind.push_str(match self.filter.starred {
            Some(true) => "\n      AND entry_states.is_starred",
            Some(false) => "\n      AND NOT entry_states.is_starred",
            None => "",
        });
        kind
    }

    /// The values of `$4` and those after it in the conditions.
    pub(crate) fn ids(&self) -> Vec<i64> {
        let feed = self.filter.feed_id.map(|feed| feed.0);
        let folder = self.filter.folder_id.map(|folder| folder.0);
        [self.account.0].into_iter().chain(feed).chain(folder).collect()
    }
}

/// The rows of a page whose ids, times (`at`) and marks a subquery gives, as far as their texts are not too long together. Each is
/// looked up by itself, whatever the planner thinks of how many there will be.
pub(crate) fn rows_of(wanted: &PageQuery<'_>, page: &str) -> String {
    rows_sql(page, &wanted.order_by("chosen.at", "chosen.id"), !wanted.filter.without_texts)
}

/// One entry of an account's: the ids are `$1` and `$2`.
pub(crate) fn one_sql() -> String {
    let one = "
        SELECT entry_id AS id, 0::bigint AS at, is_read, is_starred, received_at
        FROM entry_states
        WHERE entry_id = $1
          AND account_id = $2";
    rows_sql(one, "ORDER BY chosen.at", true)
}

fn rows_sql(page: &str, order_by: &str, with_texts: bool) -> String {
    let (texts, texts_bytes, body) = if with_texts { TEXTS } else { NO_TEXTS };
    format!(
        "
SELECT id, feed_id, guid, url, title, author, summary, content, published_at, updated_at, sort_at, is_read, is_starred,
       categories, enclosures, received_at, at, has_next
FROM (
    SELECT entry.id, feed_id, guid, url, title, author, {texts}, published_at, updated_at, entry.sort_at,
           chosen.is_read, chosen.is_starred, categories, enclosures, chosen.received_at, chosen.at,
           row_number() OVER walk AS place,
           lead(true, 1, false) OVER walk AS has_next,
           sum(octet_length(guid) + coalesce(octet_length(url), 0) + coalesce(octet_length(title), 0)
               + coalesce(octet_length(author), 0) + octet_length(categories) + octet_length(enclosures){texts_bytes})
               OVER walk AS bytes
    FROM ({page}
    ) AS chosen
    CROSS JOIN LATERAL (
        SELECT *
        FROM entries
        WHERE entries.id = chosen.id
        LIMIT 1
    ) AS entry{body}
    WINDOW walk AS ({order_by} ROWS UNBOUNDED PRECEDING)
) AS page
WHERE place = 1 OR bytes <= {PAGE_TEXT_BYTES_MAX}
ORDER BY place"
    )
}

/// Two columns, their bytes, and where they are from.
const TEXTS: (&str, &str, &str) = (
    "summary, content",
    "
               + coalesce(octet_length(summary), 0) + coalesce(octet_length(content), 0)",
    "
    LEFT JOIN LATERAL (
        SELECT *
        FROM entry_bodies
        WHERE entry_bodies.entry_id = chosen.id
        LIMIT 1
    ) AS body ON true",
);
const NO_TEXTS: (&str, &str, &str) = ("NULL::text AS summary, NULL::text AS content", "", "");

/// A page of one kind, or of changes if that has every kind.
pub(crate) async fn walk(client: &impl GenericClient, wanted: &PageQuery<'_>) -> Result<Vec<Row>, Error> {
    if wanted.filter.is_of_changes() {
        return walk_since(client, wanted).await;
    }
    run_walk(client, wanted, &rows_of(wanted, &walk_rows_sql(wanted))).await
}

/// What it chooses, with the marks.
pub(crate) fn walk_rows_sql(wanted: &PageQuery<'_>) -> String {
    format!("{}\n            LIMIT $3", wanted.walk())
}

/// The ids of a page and their times, which are in the index that it walks.
pub(crate) async fn walk_ids(client: &impl GenericClient, wanted: &PageQuery<'_>) -> Result<Vec<Row>, Error> {
    run_walk(client, wanted, &walk_ids_sql(wanted)).await
}

pub(crate) fn walk_ids_sql(wanted: &PageQuery<'_>) -> String {
    format!("{}\n            LIMIT $3", wanted.walk_of(""))
}

async fn run_walk(client: &impl GenericClient, wanted: &PageQuery<'_>, sql: &str) -> Result<Vec<Row>, Error> {
    let window = wanted.window_values();
    let window: Vec<_> = window.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    run(client, wanted, sql, &window).await
}

/// Those of some entries that are on the page.
pub(crate) async fn walk_among(
    client: &impl GenericClient,
    wanted: &PageQuery<'_>,
    ids: &[EntryId],
) -> Result<Vec<Row>, Error> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    let sql = format!(
        "
        SELECT entry_states.entry_id AS id, entry_states.sort_at AS at, is_read, is_starred, received_at
        FROM unnest(${}::bigint[]) AS given (id)
        CROSS JOIN LATERAL (
            SELECT *
            FROM entry_states
            WHERE entry_states.entry_id = given.id
              AND entry_states.account_id = $4
            LIMIT 1
        ) AS entry_states
        WHERE {}
        {}
        LIMIT $3",
        4 + wanted.ids().len(),
        wanted.conditions(),
        wanted.order_by("entry_states.sort_at", "entry_states.entry_id"),
    );
    run(client, wanted, &rows_of(wanted, &sql), &[&ids]).await
}

/// A page of changes that has not every kind, and where the walk stopped if it looked at all that it may. Both are of one
/// moment, or an entry that comes in between would be passed over.
pub(crate) async fn walk_selective(
    client: &mut Client,
    wanted: &PageQuery<'_>,
) -> Result<(Vec<Row>, Option<Cursor>), Error> {
    let snapshot = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = snapshot.start().await?;
    let rows = walk_since(&transaction, wanted).await?;
    let stopped_at = stop_of(&transaction, wanted).await?;
    transaction.commit().await?;
    Ok((rows, stopped_at))
}

async fn walk_since(client: &impl GenericClient, wanted: &PageQuery<'_>) -> Result<Vec<Row>, Error> {
    let sql = format!(
        "
        SELECT entry_states.id, entry_states.at, is_read, is_starred, received_at
        FROM ({}
            LIMIT {PAGE_WALK_MAX}
        ) AS entry_states
        WHERE true{}
        {}
        LIMIT $3",
        since_sql(wanted, 4 + wanted.ids().len()),
        wanted.kind(),
        wanted.order_by("entry_states.at", "entry_states.id"),
    );
    run(client, wanted, &rows_of(wanted, &sql), &[&wanted.since()]).await
}

/// The last row that a walk looks at, if there are as many.
async fn stop_of(client: &impl GenericClient, wanted: &PageQuery<'_>) -> Result<Option<Cursor>, Error> {
    let sql = format!("{}\n            OFFSET {}\n            LIMIT 1", since_sql(wanted, 3), PAGE_WALK_MAX - 1);
    let (at, id) = wanted.position();
    let row = query_opt(client, &sql, &[&at, &id, &wanted.since(), &wanted.account.0]).await?;
    Ok(row.map(|row| Cursor { at: time(row.get(1)), id: EntryId(row.get(0)) }))
}

/// The walk of all entries of an account since a time, which is the parameter of this number; the account is `$4`.
pub(crate) fn since_sql(wanted: &PageQuery<'_>, since_at: usize) -> String {
    let key = wanted.key();
    // Oldest first, the position is not before that time. The parameter is there all the same.
    let from = match wanted.filter.order {
        Order::Newest => format!("{key} >= ${since_at}::bigint"),
        Order::Oldest => format!("${since_at}::bigint IS NOT NULL"),
    };
    format!(
        "
            SELECT entry_id AS id, {key} AS at, feed_id, folder_id, is_read, is_starred, received_at
            FROM entry_states
            WHERE account_id = $4
              AND ({key}, entry_id) {} ($1, $2)
              AND {from}
            {}",
        wanted.comes_after(),
        wanted.order_by(key, "entry_id"),
    )
}

/// Runs the statement of a page, with these values after those of its conditions.
pub(crate) async fn run(
    client: &impl GenericClient,
    wanted: &PageQuery<'_>,
    sql: &str,
    more: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Error> {
    let ((at, id), limit, ids) = (wanted.position(), wanted.limit(), wanted.ids());
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&at, &id, &limit];
    params.extend(ids.iter().map(|id| id as &(dyn ToSql + Sync)));
    params.extend(more);
    query(client, sql, &params).await
}
