//! The parameters of lists of entries. As Miniflux does, numbers that cannot be read count as not given, and unknown
//! parameters as well; a status, an order or a direction that there is not is refused.

use domain::{
    EntryId, FeedId, FolderId, Search,
    entry::Order,
    entry_query::{Between, EntryQuery, OFFSET_MAX, Place, SortBy},
};
use jiff::Timestamp;
use url::form_urlencoded;

use super::{
    error::{Answer, Refused},
    views::OUTSIDE,
};

/// Entries of a list unless told otherwise.
const LIMIT_DEFAULT: u32 = 100;
/// Entries of a list at most, also of one without a limit. They are read and sent in pieces.
const LIMIT_MAX: u32 = 100_000;

/// A list that is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListQuery {
    pub(super) query: EntryQuery,
    pub(super) search: Option<Search>,
    pub(super) offset: u32,
    pub(super) limit: u32,
}

/// The parameters of a request.
struct Given(Vec<(String, String)>);

impl Given {
    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.all(name).next().filter(|text| !text.is_empty())
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// A number that counts only if it is positive.
    fn positive(&self, name: &str) -> Option<i64> {
        self.number(name).filter(|number| *number > 0)
    }

    /// Seconds since 1970. What is beyond all time is the end of it.
    fn time(&self, name: &str) -> Option<Timestamp> {
        Some(Timestamp::from_second(self.positive(name)?).unwrap_or(Timestamp::MAX))
    }

    fn between(&self, before: &str, after: &str) -> Between {
        Between { before: self.time(before), after: self.time(after) }
    }
}

impl ListQuery {
    pub(super) fn read(query: Option<&str>) -> Answer<Self> {
        let given = Given(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect());
        let status = Status::read(&given)?;
        let published = given.between("published_before", "published_after");
        let published_too = given.between("before", "after");
        let query = EntryQuery {
            feed_id: given.positive("feed_id").map(FeedId),
            place: given.positive("category_id").map(place),
            unread: status.unread(),
            starred: given.text("starred").and_then(truth),
            // Nothing is ever removed: who asks for that alone gets an empty list.
            among: status.is_none().then(Vec::new),
            after_id: given.positive("after_entry_id").map(EntryId),
            before_id: given.positive("before_entry_id").map(EntryId),
            published: Between {
                after: published.after.max(published_too.after),
                before: published.before.or(published_too.before),
            },
            changed: given.between("changed_before", "changed_after"),
            changed_since_received: false,
            by: sort_by(given.text("order").unwrap_or("published_at"))?,
            order: order(given.text("direction").unwrap_or("asc"))?,
        };
        let search = given.text("search").map(Search::parse).transpose();
        let search = search.map_err(|error| Refused::bad(format!("`search`: {error}")))?.flatten();
        Ok(Self { query, search, offset: offset(&given)?, limit: limit(&given)? })
    }
}

pub(super) fn place(category: i64) -> Place {
    if category == OUTSIDE { Place::Outside } else { Place::Folder(FolderId(category)) }
}

/// The states that are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Status {
    has_read: bool,
    has_unread: bool,
    has_removed: bool,
}

impl Status {
    fn read(given: &Given) -> Answer<Self> {
        let mut asked = Self::default();
        for status in given.all("status").filter(|status| !status.is_empty()) {
            match status {
                "read" => asked.has_read = true,
                "unread" => asked.has_unread = true,
                "removed" => asked.has_removed = true,
                _ => return Err(Refused::bad("invalid entry status, valid status values are: \"read\", \"unread\"")),
            }
        }
        Ok(asked)
    }

    fn unread(self) -> Option<bool> {
        (self.has_read != self.has_unread).then_some(self.has_unread)
    }

    /// Whether no entry can be in any of them.
    fn is_none(self) -> bool {
        self.has_removed && !self.has_read && !self.has_unread
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "t" | "true" => Some(true),
        "0" | "f" | "false" => Some(false),
        _ => None,
    }
}

/// Orders by what stands in no index go by the time of publication.
fn sort_by(order: &str) -> Answer<SortBy> {
    match order {
        "id" => Ok(SortBy::Id),
        "changed_at" => Ok(SortBy::Changed),
        "created_at" => Ok(SortBy::Received),
        "published_at" | "status" | "category_title" | "category_id" | "title" | "author" => Ok(SortBy::Published),
        _ => Err(Refused::bad(
            "invalid entry order, valid order values are: \"id\", \"published_at\", \"created_at\", \"changed_at\"",
        )),
    }
}

fn order(direction: &str) -> Answer<Order> {
    match direction {
        "asc" => Ok(Order::Oldest),
        "desc" => Ok(Order::Newest),
        _ => Err(Refused::bad("invalid direction, valid direction values are: \"asc\", \"desc\"")),
    }
}

fn offset(given: &Given) -> Answer<u32> {
    let offset = given.number("offset").unwrap_or(0);
    let fits = u32::try_from(offset).ok().filter(|offset| *offset <= OFFSET_MAX);
    fits.ok_or_else(|| {
        Refused::bad(format!("offset value should be from 0 to {OFFSET_MAX}; beyond that ask by after_entry_id"))
    })
}

fn limit(given: &Given) -> Answer<u32> {
    match given.number("limit").unwrap_or(LIMIT_DEFAULT.into()) {
        0 => Ok(LIMIT_MAX),
        limit if limit > 0 => Ok(u32::try_from(limit).unwrap_or(LIMIT_MAX).min(LIMIT_MAX)),
        _ => Err(Refused::bad("limit value should be >= 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Option<Timestamp> {
        Timestamp::from_second(second).ok()
    }

    fn read(query: &str) -> ListQuery {
        ListQuery::read(Some(query)).unwrap()
    }

    #[test]
    fn s3_lists_are_asked_for_by_many_conditions() {
        let any = || EntryQuery { order: Order::Oldest, ..EntryQuery::default() };
        for (text, expect) in [
            ("", any()),
            ("unknown=1&globally_visible=true&offset=x", any()),
            ("status=unread", EntryQuery { unread: Some(true), ..any() }),
            ("status=read", EntryQuery { unread: Some(false), ..any() }),
            ("status=read&status=unread", any()),
            ("status=removed&status=read", EntryQuery { unread: Some(false), ..any() }),
            ("status=removed", EntryQuery { among: Some(Vec::new()), ..any() }),
            ("starred=true", EntryQuery { starred: Some(true), ..any() }),
            ("starred=1", EntryQuery { starred: Some(true), ..any() }),
            ("starred=False", EntryQuery { starred: Some(false), ..any() }),
            ("starred=perhaps", any()),
            ("order=id&direction=desc", EntryQuery { by: SortBy::Id, order: Order::Newest, ..any() }),
            ("order=created_at", EntryQuery { by: SortBy::Received, ..any() }),
            ("order=changed_at", EntryQuery { by: SortBy::Changed, ..any() }),
            ("order=title", any()),
            ("after_entry_id=7", EntryQuery { after_id: Some(EntryId(7)), ..any() }),
            ("before_entry_id=7", EntryQuery { before_id: Some(EntryId(7)), ..any() }),
            ("before_entry_id=0", any()),
            ("category_id=7", EntryQuery { place: Some(Place::Folder(FolderId(7))), ..any() }),
            ("category_id=2147483647", EntryQuery { place: Some(Place::Outside), ..any() }),
            ("feed_id=7", EntryQuery { feed_id: Some(FeedId(7)), ..any() }),
            ("before=9&after=5", EntryQuery { published: Between { after: second(5), before: second(9) }, ..any() }),
            (
                "published_before=9&published_after=5",
                EntryQuery { published: Between { after: second(5), before: second(9) }, ..any() },
            ),
            (
                "changed_before=9&changed_after=5",
                EntryQuery { changed: Between { after: second(5), before: second(9) }, ..any() },
            ),
            (
                "changed_after=9223372036854775807",
                EntryQuery { changed: Between { after: Some(Timestamp::MAX), before: None }, ..any() },
            ),
        ] {
            assert_eq!(read(text), ListQuery { query: expect, search: None, offset: 0, limit: 100 }, "{text}");
        }
        assert!(read("search=word").search.is_some());
        assert_eq!(read("search=").search, None);
    }

    #[test]
    fn s3_lists_have_bounds() {
        for (text, expect) in [
            ("limit=5&offset=10", Some((10, 5))),
            ("limit=0", Some((0, LIMIT_MAX))),
            ("limit=999999999999", Some((0, LIMIT_MAX))),
            ("limit=-1", None),
            ("offset=-1", None),
            ("offset=100001", None),
            ("offset=100000", Some((100_000, 100))),
            ("order=random", None),
            ("direction=up", None),
            ("status=new", None),
        ] {
            let query = ListQuery::read(Some(text)).ok();
            assert_eq!(query.map(|query| (query.offset, query.limit)), expect, "{text}");
        }
    }
}
