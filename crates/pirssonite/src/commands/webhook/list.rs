//! `pirssonite webhook list`: where events go, which, and what is wrong.

use std::process::ExitCode;

use domain::folder::one_line;
use reqwest::Method;
use serde_json::Value;

use super::{print_json, print_line, text, to_u64};
use crate::backend::Backend;

pub(super) async fn run(backend: &dyn Backend, json: bool) -> anyhow::Result<ExitCode> {
    let webhooks = backend.call(Method::GET, "/api/webhooks", None).await?;
    let list = webhooks.as_array().map(Vec::as_slice).unwrap_or_default();
    if json {
        print_json(&webhooks)?;
    } else if list.is_empty() {
        print_line("no webhooks yet: add one with `pirssonite webhook add URL`")?;
    } else {
        let folders = backend.folders().await?;
        for webhook in list {
            print_line(&line(webhook, &folders))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(webhook: &Value, folders: &[Value]) -> String {
    let (enabled, failures) = (webhook["enabled"] == true, to_u64(&webhook["consecutiveFailures"]));
    let (state, why) = match (enabled, webhook["disabledReason"].as_str()) {
        (true, _) if failures == 1 => ("failing", "  failing: once".to_owned()),
        (true, _) if failures > 1 => ("failing", format!("  failing: {failures} times in a row")),
        (true, _) => ("on", String::new()),
        (false, Some(why)) => ("off", format!("  disabled: {why}")),
        (false, None) => ("off", String::new()),
    };
    let held = webhook["heldUntil"].as_str().filter(|_| enabled).map(|until| format!("  held until {until}"));
    let held = held.unwrap_or_default();
    let named = |field: &str, what: &str| webhook[field].as_array().map(|list| format!("  {what}{}", listed(list)));
    let name_of =
        |id: &Value| folders.iter().find(|folder| &folder["id"] == id).map_or(id, |folder| &folder["name"]).clone();
    let in_folders = webhook["folderIds"].as_array().map(|ids| ids.iter().map(name_of).collect::<Vec<_>>());
    let in_folders = in_folders.map(|names| format!("  of folders {}", listed(&names)));
    let wanted = [named("eventTypes", ""), named("feedIds", "of feeds "), in_folders];
    let wanted: String = wanted.into_iter().flatten().collect();
    let note = webhook["description"].as_str().map(|note| format!("  ({})", one_line(note)));
    let note = note.unwrap_or_default();
    format!("{:>5}  {state:<7}  {}{note}{wanted}{why}{held}", webhook["id"].to_string(), text(&webhook["url"]))
}

fn listed(list: &[Value]) -> String {
    let items: Vec<String> = list.iter().map(|item| item.as_str().map_or(item.to_string(), str::to_owned)).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn u5_d1_webhooks_are_listed_line_by_line() {
        let webhook = json!({
            "id": 1, "url": "https://r.org/", "enabled": true, "consecutiveFailures": 0, "description": null,
            "eventTypes": null, "feedIds": null, "folderIds": null, "disabledReason": null,
            "heldUntil": null,
        });
        let with = |change: Value| {
            let mut webhook = webhook.clone();
            for (name, value) in change.as_object().unwrap() {
                webhook[name] = value.clone();
            }
            line(&webhook, &[json!({ "id": 7, "name": "Daily" })])
        };
        assert_eq!(line(&webhook, &[]), "    1  on       https://r.org/");
        assert_eq!(with(json!({ "consecutiveFailures": 1 })), "    1  failing  https://r.org/  failing: once");
        assert_eq!(
            with(json!({ "consecutiveFailures": 3 })),
            "    1  failing  https://r.org/  failing: 3 times in a row"
        );
        assert_eq!(
            with(json!({ "consecutiveFailures": 1, "heldUntil": "2026-03-01T12:00:00Z" })),
            "    1  failing  https://r.org/  failing: once  held until 2026-03-01T12:00:00Z"
        );
        assert_eq!(
            with(json!({ "enabled": false, "disabledReason": "it answered 410 Gone" })),
            "    1  off      https://r.org/  disabled: it answered 410 Gone"
        );
        assert_eq!(
            with(
                json!({ "enabled": false, "description": "a\nb", "eventTypes": ["feed.gone"], "feedIds": [1, 2], "folderIds": [] })
            ),
            "    1  off      https://r.org/  (a b)  feed.gone  of feeds 1, 2  of folders none"
        );
        assert_eq!(with(json!({ "folderIds": [7, 8] })), "    1  on       https://r.org/  of folders Daily, 8");
    }
}
