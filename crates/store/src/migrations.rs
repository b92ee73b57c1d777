//! What a database needs to be of this version. Both stores ask here; how it is done is theirs.

use domain::ingest::Hash;

use crate::OpenError;

/// A migration: number, name and statements. One that was released is never changed.
pub(crate) type Migration = (i64, &'static str, &'static str);

/// One that a database has.
#[derive(Debug, Clone)]
pub(crate) struct Applied {
    pub(crate) version: i64,
    pub(crate) checksum: String,
}

/// The migrations that a database has not had yet, in their order. A database with one that nobody here knows is of a later
/// program, and is left alone; so is one that was made by other statements than these.
pub(crate) fn missing<'a>(known: &'a [Migration], applied: &[Applied]) -> Result<Vec<&'a Migration>, OpenError> {
    let last = known.last().map_or(0, |(version, ..)| *version);
    for Applied { version, checksum } in applied {
        match known.iter().find(|(number, ..)| number == version) {
            None => return Err(OpenError::TooNew { found: *version, known: last }),
            Some((_, name, sql)) if checksum_of(sql) != *checksum => {
                return Err(OpenError::ChangedMigration { name: (*name).to_owned() });
            }
            Some(_) => {}
        }
    }
    Ok(known.iter().filter(|(number, ..)| applied.iter().all(|applied| applied.version != *number)).collect())
}

/// What statements are recognised by.
pub(crate) fn checksum_of(sql: &str) -> String {
    Hash::of(sql.as_bytes()).0.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Migration; 3] = [(1, "0001_a", "a"), (2, "0002_b", "b"), (4, "0004_d", "d")];

    fn applied(version: i64, sql: &str) -> Applied {
        Applied { version, checksum: checksum_of(sql) }
    }

    #[test]
    fn p2_missing_migrations_are_found_and_strange_ones_refused() {
        let check = |applied: &[Applied], expect: Result<Vec<i64>, OpenError>| {
            let found = missing(&KNOWN, applied).map(|missing| missing.iter().map(|(version, ..)| *version).collect());
            assert_eq!(found, expect, "{applied:?}");
        };
        check(&[], Ok(vec![1, 2, 4]));
        check(&[applied(1, "a")], Ok(vec![2, 4]));
        check(&[applied(1, "a"), applied(4, "d")], Ok(vec![2]));
        check(&[applied(1, "a"), applied(5, "e")], Err(OpenError::TooNew { found: 5, known: 4 }));
        check(&[applied(1, "other")], Err(OpenError::ChangedMigration { name: "0001_a".to_owned() }));
    }
}
