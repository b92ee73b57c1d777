//! What clients mark: an item, or all of a feed or a group that were there at a time. What does not exist is passed over,
//! and marking twice changes nothing.

use domain::{
    EntryId, EntryPatch, FeedId, FolderId,
    entry_query::{Between, EntryQuery, SortBy},
    ports::MarkRead,
};
use jiff::{SignedDuration, Timestamp};

use super::parameters::Given;
use crate::{auth::Actor, error::ApiResult, state::AppState, work::run_to_completion};

/// The group of everything; feeds without a folder are only there.
const KINDLING: i64 = 0;

/// How far back `unread_recently_read` goes, and how many it makes unread.
const RECENT: SignedDuration = SignedDuration::from_mins(15);
const RECENT_MAX: u32 = 1_000;

/// What a call marks.
#[derive(Debug, PartialEq, Eq)]
enum Mark {
    Item(EntryId, EntryPatch),
    Read(MarkRead),
}

/// Marks what the call says, if it says anything.
pub(super) async fn mark(state: &AppState, actor: &Actor, given: &Given) -> ApiResult<()> {
    let mark = read(given);
    let unreads_recent = given.text("unread_recently_read") == Some("1");
    if mark.is_none() && !unreads_recent {
        return Ok(());
    }
    actor.check_write()?;
    match mark {
        Some(Mark::Item(id, patch)) => {
            state.store().patch_entries(actor.account, &[id], patch).await?;
        }
        Some(Mark::Read(which)) => {
            let (store, account) = (state.store().clone(), actor.account);
            run_to_completion(async move { store.mark_read(account, which).await }).await??;
        }
        None => {}
    }
    if unreads_recent {
        unread_recent(state, actor).await?;
    }
    Ok(())
}

/// What was read or otherwise changed within the last minutes, and is read, is unread again; but not what came in read.
async fn unread_recent(state: &AppState, actor: &Actor) -> ApiResult<()> {
    let changed = Between { after: Some(state.engine.now() - RECENT), before: None };
    let query = EntryQuery {
        unread: Some(false),
        by: SortBy::Changed,
        changed,
        changed_since_received: true,
        ..EntryQuery::default()
    };
    let ids = state.store().find_entries(actor.account, &query, 0, RECENT_MAX).await?;
    let patch = EntryPatch { is_read: Some(false), is_starred: None };
    state.store().patch_entries(actor.account, &ids, patch).await?;
    Ok(())
}

fn read(given: &Given) -> Option<Mark> {
    let (what, id) = (given.text("mark")?, given.number("id")?);
    let patch = match given.text("as")? {
        "read" => EntryPatch { is_read: Some(true), is_starred: None },
        "unread" => EntryPatch { is_read: Some(false), is_starred: None },
        "saved" => EntryPatch { is_read: None, is_starred: Some(true) },
        "unsaved" => EntryPatch { is_read: None, is_starred: Some(false) },
        _ => return None,
    };
    if what == "item" {
        return (id > 0).then_some(Mark::Item(EntryId(id), patch));
    }
    let before = given.number("before").filter(|before| *before > 0);
    let before = before.map(end_of_second).transpose().ok()?;
    let which = MarkRead { before, ..MarkRead::default() };
    // Only as read, and not of the sparks (-1), which no feed here is.
    match what {
        _ if patch.is_read != Some(true) => None,
        "feed" if id > 0 => Some(Mark::Read(MarkRead { feed_id: Some(FeedId(id)), ..which })),
        "group" if id == KINDLING => Some(Mark::Read(which)),
        "group" if id > 0 => Some(Mark::Read(MarkRead { folder_id: Some(FolderId(id)), ..which })),
        _ => None,
    }
}

/// Clients send whole seconds: what was received within that one counts.
fn end_of_second(second: i64) -> Result<Timestamp, jiff::Error> {
    Timestamp::from_millisecond(second.saturating_mul(1000).saturating_add(999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_marks_are_read_as_documented() {
        let given = |text: &str| Given::of(text);
        let item = |is_read, is_starred| Some(Mark::Item(EntryId(7), EntryPatch { is_read, is_starred }));
        let before = Some(Timestamp::from_millisecond(1_700_000_000_999).unwrap());
        for (text, expect) in [
            ("mark=item&as=read&id=7", item(Some(true), None)),
            ("mark=item&as=unread&id=7", item(Some(false), None)),
            ("mark=item&as=saved&id=7", item(None, Some(true))),
            ("mark=item&as=unsaved&id=7", item(None, Some(false))),
            (
                "mark=feed&as=read&id=7&before=1700000000",
                Some(Mark::Read(MarkRead { feed_id: Some(FeedId(7)), folder_id: None, before })),
            ),
            (
                "mark=group&as=read&id=7&before=1700000000",
                Some(Mark::Read(MarkRead { feed_id: None, folder_id: Some(FolderId(7)), before })),
            ),
            ("mark=group&as=read&id=0&before=1700000000", Some(Mark::Read(MarkRead { before, ..MarkRead::default() }))),
            ("mark=group&as=read&id=0", Some(Mark::Read(MarkRead::default()))),
            ("mark=group&as=read&id=0&before=0", Some(Mark::Read(MarkRead::default()))),
            ("mark=group&as=read&id=-1&before=1700000000", None),
            ("mark=group&as=unread&id=7", None),
            ("mark=feed&as=saved&id=7", None),
            ("mark=feed&as=read&id=0", None),
            ("mark=feed&as=read&id=7&before=99999999999999999", None),
            ("mark=item&as=starred&id=7", None),
            ("mark=item&as=read&id=x", None),
            ("mark=item&as=read", None),
            ("mark=everything&as=read&id=7", None),
            ("as=read&id=7", None),
        ] {
            assert_eq!(read(&given(text)), expect, "{text}");
        }
    }
}
