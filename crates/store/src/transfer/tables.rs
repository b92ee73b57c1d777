//! Every table of the schema: copied, or left out for a reason. A test holds that none is forgotten.

/// A table that is copied, row by row. Its columns are asked of the databases, so a new column needs nothing here.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// In the order of which its rows are read, so that they are written one behind the other.
    pub(crate) key: &'static str,
}

const fn table(name: &'static str, key: &'static str) -> Table {
    Table { name, key }
}

impl Table {
    /// The columns that are copied, of a table that is not the same in both stores.
    pub(crate) fn common_columns(&self) -> Option<Vec<String>> {
        let columns: &[&str] = match self.name {
            // `sort_at` is stored on PostgreSQL, and on SQLite it is that of the entry; grams are made anew.
            WORDS => &["entry_id", "sort_at", "words"],
            // On PostgreSQL each connection counts in a row of its own.
            FIGURES => &["account_id", "series", "minute", "count"],
            _ => return None,
        };
        Some(columns.iter().map(|column| (*column).to_owned()).collect())
    }
}

/// The words of entries.
pub(crate) const WORDS: &str = "entry_words";

/// How many of what happened in a minute.
pub(crate) const FIGURES: &str = "figures_by_minute";

/// Those that are copied, each after those that its foreign keys name.
pub(crate) const TABLES: [Table; 22] = [
    table("accounts", "id"),
    table("sessions", "id"),
    table("tokens", "id"),
    table("folders", "id"),
    table("feeds", "id"),
    table("last_documents", "feed_id"),
    table("follows", "feed_id, account_id"),
    table("entries", "id"),
    table("entry_bodies", "entry_id"),
    table("entry_states", "entry_id, account_id"),
    table(WORDS, "entry_id"),
    table("icons", "id"),
    table("feed_icons", "feed_id"),
    table("pruned_entries", "feed_id, identity, link_trait, title_trait, fingerprint"),
    table("subscriptions", "id"),
    table("installation", "key"),
    table("webhooks", "id"),
    table("events", "id"),
    table("deliveries", "id"),
    table("attempts", "delivery_id, place"),
    table(FIGURES, "account_id, series, minute"),
    table("figures_by_hour", "account_id, series, hour"),
];

/// Those that are not, and why.
#[cfg(test)]
pub(crate) const LEFT_OUT: [(&str, &str); 5] = [
    ("changes", "what was changed within the last hour: whoever follows it loads anew"),
    ("change_floor", "set, so that no number of a change is given twice"),
    ("entry_grams", "the index of words on SQLite: made anew"),
    ("maintenance", "what was done with this database, not what is in it"),
    ("schema_migrations", "the schema of this database"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Whether a table of SQLite is part of another: of the index of words, or of the database itself.
    fn is_part(name: &str) -> bool {
        name.starts_with("sqlite_") || name.starts_with("entry_grams_")
    }

    fn listed() -> BTreeSet<String> {
        let copied = TABLES.iter().map(|table| table.name);
        copied.chain(LEFT_OUT.iter().map(|(name, _)| *name)).map(str::to_owned).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn p4_every_table_is_copied_or_left_out_for_a_reason() {
        let sqlite = testkit::fresh_sqlite().await;
        let connection = rusqlite::Connection::open(sqlite.folder().join("pirssonite.db")).unwrap();
        let mut names = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
        let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
        assert_eq!(names.filter(|name| !is_part(name)).collect::<BTreeSet<_>>(), listed());

        let postgres = testkit::fresh_postgres().await;
        let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
        let names = postgres.client().await.query(sql, &[]).await.unwrap();
        let names: BTreeSet<String> = names.iter().map(|row| row.get(0)).collect();
        let mut expect = listed();
        expect.remove("entry_grams");
        assert_eq!(names, expect);
    }
}
