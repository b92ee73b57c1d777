//! Feeds and folders as people name them: by name, without regard to case where that is clear, or by id.
//!
//! A name that fits several is refused with all of them, and so is a number that is the id of one and the name of
//! another: `id:7` always means the id.

use anyhow::{anyhow, bail};
use serde_json::Value;

use super::title_of;
use crate::{backend::Backend, screen::clean, sorting::folded};

/// Before a number that is an id and nothing else.
const ID: &str = "id:";

/// Things that are listed where one was not found, or several were.
const LISTED_MAX: usize = 10;

/// Which of some things is meant.
#[derive(Debug, PartialEq, Eq)]
enum NameMatch<'v> {
    One(&'v Value),
    None,
    Several(Vec<&'v Value>),
}

/// The folder that is meant, which must be there.
pub(super) async fn folder(backend: &dyn Backend, given: &str) -> anyhow::Result<Value> {
    let folders = backend.folders().await?;
    find_folder(&folders, given)?.cloned().ok_or_else(|| {
        let names: Vec<String> = folders.iter().take(LISTED_MAX).map(|folder| clean(&folder_name(folder))).collect();
        let more = if folders.len() > LISTED_MAX { ", …" } else { "" };
        let known = if names.is_empty() { "no folders yet".to_owned() } else { format!("{}{more}", names.join(", ")) };
        anyhow!("there is no folder {}; there are {known}", clean(given))
    })
}

/// The id of the folder that is meant.
pub(super) async fn folder_id(backend: &dyn Backend, given: &str) -> anyhow::Result<i64> {
    Ok(id_of(&folder(backend, given).await?))
}

/// The folder that is meant, if there is one.
pub(super) fn find_folder<'v>(folders: &'v [Value], given: &str) -> anyhow::Result<Option<&'v Value>> {
    match find(folders, given, |folder| vec![folder_name(folder)]) {
        NameMatch::One(folder) => Ok(Some(folder)),
        NameMatch::None => Ok(None),
        NameMatch::Several(several) => bail!(ambiguous("folder", given, &several, folder_name)),
    }
}

/// Whether it cannot be meant as a name that does not exist yet.
pub(super) fn is_id(given: &str) -> bool {
    given.starts_with(ID) || !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit())
}

/// The feed that is meant: by id, by title, or by its URL, with or without the scheme.
pub(super) fn feed<'v>(feeds: &'v [Value], given: &str) -> anyhow::Result<&'v Value> {
    let names = |feed: &Value| {
        let url = feed["url"].as_str().unwrap_or_default().to_owned();
        let bare = |url: &str| url.split_once("://").map_or(url, |(_, bare)| bare).trim_end_matches('/').to_owned();
        vec![title_of(feed).to_owned(), bare(&url), url]
    };
    match find(feeds, given, names) {
        NameMatch::One(feed) => Ok(feed),
        NameMatch::None => bail!("there is no feed {}: `pirssonite list` shows those that are there", clean(given)),
        NameMatch::Several(several) => bail!(ambiguous("feed", given, &several, |feed| title_of(feed).to_owned())),
    }
}

/// The id of a thing of the API's.
pub(super) fn id_of(thing: &Value) -> i64 {
    thing["id"].as_i64().unwrap_or_default()
}

/// What a folder is called.
pub(super) fn folder_name(folder: &Value) -> String {
    folder["name"].as_str().unwrap_or_default().to_owned()
}

fn find<'v>(things: &'v [Value], given: &str, names: impl Fn(&Value) -> Vec<String>) -> NameMatch<'v> {
    let given = given.trim();
    let by_id = |text: &str| {
        let id = text.parse::<i64>().ok();
        things.iter().find(move |thing| id.is_some_and(|id| id_of(thing) == id))
    };
    if let Some(id) = given.strip_prefix(ID) {
        return by_id(id).map_or(NameMatch::None, NameMatch::One);
    }
    let called = |fits: &dyn Fn(&str) -> bool| -> Vec<&'v Value> {
        things.iter().filter(|thing| names(thing).iter().any(|name| fits(name))).collect()
    };
    let mut meant = called(&|name| name == given);
    if meant.is_empty() {
        let wanted = folded(given);
        meant = called(&|name| folded(name) == wanted);
    }
    if let Some(thing) = by_id(given)
        && !meant.iter().any(|known| id_of(known) == id_of(thing))
    {
        meant.push(thing);
    }
    match meant.as_slice() {
        [] => NameMatch::None,
        [one] => NameMatch::One(one),
        _ => NameMatch::Several(meant),
    }
}

fn ambiguous(what: &str, given: &str, several: &[&Value], name: impl Fn(&Value) -> String) -> String {
    let several: Vec<Value> = several.iter().map(|thing| (*thing).clone()).collect();
    format!("{} may mean more than one {what}; {}", clean(given), listed(&several, name))
}

fn listed(things: &[Value], name: impl Fn(&Value) -> String) -> String {
    let named = |thing: &Value| format!("{ID}{} ({})", id_of(thing), clean(&name(thing)));
    let some: Vec<String> = things.iter().take(LISTED_MAX).map(named).collect();
    let more = if things.len() > LISTED_MAX { ", …" } else { "" };
    format!("write one of {}{more}", some.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn u5_folder_is_found_by_name_or_id() {
        let folders: Vec<Value> = [(1, "Daily"), (2, "news"), (3, "News"), (4, "1"), (5, "Über uns"), (6, "2024")]
            .map(|(id, name)| json!({ "id": id, "name": name }))
            .into();
        let meant = |given: &str| find_folder(&folders, given).map(|folder| folder.map(id_of));
        for (given, expect) in [
            ("Daily", Some(1)),
            (" daily ", Some(1)),
            ("news", Some(2)),
            ("News", Some(3)),
            ("uber UNS", Some(5)),
            ("2024", Some(6)),
            ("3", Some(3)),
            ("id:1", Some(1)),
            ("id:4", Some(4)),
            ("id:9", None),
            ("id:x", None),
            ("nothing", None),
            ("", None),
        ] {
            assert_eq!(meant(given).unwrap(), expect, "{given}");
        }
        for (given, expect) in [
            ("NEWS", "NEWS may mean more than one folder; write one of id:2 (news), id:3 (News)"),
            ("1", "1 may mean more than one folder; write one of id:4 (1), id:1 (Daily)"),
        ] {
            assert_eq!(meant(given).unwrap_err().to_string(), expect);
        }
        assert!(is_id("7") && is_id("id:7") && !is_id("7 days") && !is_id(""));
    }

    #[test]
    fn u5_feed_is_found_by_id_title_or_url() {
        let feeds = [
            json!({ "id": 1, "url": "https://e.org/feed/", "title": "News", "customTitle": "Mine" }),
            json!({ "id": 2, "url": "https://f.org/", "title": "News" }),
            json!({ "id": 3, "url": "https://g.org/", "title": "news" }),
            json!({ "id": 4, "url": "http://f.org/" }),
        ];
        let meant = |given: &str| feed(&feeds, given).map(id_of).map_err(|error| error.to_string());
        for (given, expect) in
            [("1", 1), ("mine", 1), ("e.org/feed", 1), ("https://f.org/", 2), ("News", 2), ("news", 3), ("id:4", 4)]
        {
            assert_eq!(meant(given), Ok(expect), "{given}");
        }
        assert!(meant("NEWS").unwrap_err().contains("id:2 (News), id:3 (news)"));
        assert!(meant("f.org").unwrap_err().contains("more than one feed"));
        assert!(meant("nothing\u{1b}").unwrap_err().starts_with("there is no feed nothing:"));
    }
}
