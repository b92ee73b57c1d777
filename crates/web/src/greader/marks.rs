//! Items that are read or starred, one by one or a whole stream. What is so already is left as it is.

use domain::{EntryPatch, ports::MarkRead};
use jiff::Timestamp;

use super::{ids::parse_ids, refusal::Refusal, request::Call, stream::Stream, tags::folder_of};
use crate::work::{mark_starred_read, patch_to_the_end, run_to_completion};

/// Digits of a time in microseconds; with fewer it is in seconds.
const MICROSECONDS_DIGITS: usize = 16;

/// Adds and removes tags of items. Those that nothing has here (`kept-unread`, `broadcast`, `like` and others) are passed
/// over. A label without items makes a folder.
pub(super) async fn edit_tag(call: &Call) -> Result<(), Refusal> {
    let ids = parse_ids(call.params.all("i"))?;
    let names_items = call.params.first("i").is_some();
    let mut patch = EntryPatch::default();
    for (name, is_added) in [("a", true), ("r", false)] {
        for stream in call.params.all(name).filter_map(Stream::parse) {
            match stream {
                Stream::Read => patch.is_read = Some(is_added),
                Stream::Starred => patch.is_starred = Some(is_added),
                Stream::Label(label) if is_added && !names_items => {
                    folder_of(call, &label).await?;
                }
                _ => {}
            }
        }
    }
    mark(call, ids, patch).await
}

async fn mark(call: &Call, ids: Vec<domain::EntryId>, patch: EntryPatch) -> Result<(), Refusal> {
    if patch == EntryPatch::default() {
        return Ok(());
    }
    Ok(patch_to_the_end(call.state.store().clone(), call.actor.account, ids, patch).await?)
}

/// Marks what a stream has received until a time.
pub(super) async fn mark_all_as_read(call: &Call) -> Result<(), Refusal> {
    let stream = call.params.first("s").and_then(Stream::parse).ok_or(Refusal::BadRequest)?;
    let before = call.params.first("ts").map_or(Ok(None), time)?;
    let mut which = MarkRead { before, ..MarkRead::default() };
    match stream {
        Stream::Feed(id) => which.feed_id = Some(id),
        Stream::FeedUrl(_) => match call.feed(&stream).await? {
            Some(id) => which.feed_id = Some(id),
            None => return Ok(()),
        },
        Stream::Label(name) => match call.folder(&name).await? {
            Some(folder) => which.folder_id = Some(folder.id),
            None => return Ok(()),
        },
        Stream::ReadingList | Stream::Unread => {}
        Stream::Starred => {
            return Ok(mark_starred_read(call.state.store().clone(), call.actor.account, which).await?);
        }
        Stream::Read | Stream::Nothing => return Ok(()),
    }
    let (store, account) = (call.state.store().clone(), call.actor.account);
    run_to_completion(async move { store.mark_read(account, which).await }).await??;
    Ok(())
}

/// A time in microseconds, or in seconds; zero is none.
fn time(text: &str) -> Result<Option<Timestamp>, Refusal> {
    let number: Option<i64> = text.trim().parse().ok().filter(|number| *number >= 0);
    let number = number.ok_or(Refusal::BadRequest)?;
    if number == 0 {
        return Ok(None);
    }
    let at = if text.trim().len() < MICROSECONDS_DIGITS {
        Timestamp::from_second(number)
    } else {
        Timestamp::from_microsecond(number)
    };
    Ok(Some(at.unwrap_or(Timestamp::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_ts_is_in_microseconds_or_seconds() {
        let at = Timestamp::from_second(1_800_000_000).unwrap();
        for (text, expect) in [
            ("1800000000000000", Some(Some(at))),
            ("1800000000", Some(Some(at))),
            ("0", Some(None)),
            ("999999999999999", Some(Some(Timestamp::MAX))),
            ("-1", None),
            ("soon", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(time(text).ok(), expect, "{text}");
        }
    }
}
