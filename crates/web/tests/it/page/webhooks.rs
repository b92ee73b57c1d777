//! The forms of webhooks.

use serde_json::json;

use super::{Reader, between, both};
use crate::world::rss;

/// What somebody fills in, with an address that is refused.
const TYPED: &str = "url=http%3A%2F%2F10.0.0.1%2Fhook&description=For+%22me%22&eventTypes=feed.gone&ratePerSecond=2.5\
                     &headers=X-Key%3A+abc&backlog=true";

/// The page that answers a form, which is as it was sent.
async fn refused(reader: &Reader, path: &str, form: &str) -> String {
    let answer = reader.browse("POST", path, Some(form)).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    // Who sees the field needs no name of it.
    assert!(answer.text.contains("</strong> The address of 10.0.0.1 is not public"), "{}", answer.text);
    between(&answer.text, "<details class=\"form\" open", "</details>").to_owned()
}

#[tokio::test]
async fn u3_a_webhook_that_is_refused_need_not_be_typed_again() {
    for reader in both().await {
        let feed = reader.follow("/a", &rss("River", 1), None).await;
        let webhook = json!({ "url": "https://receiver.example/hook", "eventTypes": ["entry.created"] });
        let id = &reader.server.send("POST", "/api/webhooks", &webhook.to_string()).await.ok(201)["id"];
        let typed = format!("{TYPED}&feedIds={}", feed["id"]);
        for (path, form) in
            [("/webhooks".to_owned(), typed.clone()), (format!("/webhooks/{id}"), format!("{typed}&do=change"))]
        {
            let form = refused(&reader, &path, &form).await;
            for kept in [
                "value=\"http://10.0.0.1/hook\"".to_owned(),
                "value=\"For &quot;me&quot;\"".to_owned(),
                "value=\"feed.gone\" checked".to_owned(),
                format!("<option value=\"{}\" selected", feed["id"]),
                ">X-Key: abc</textarea>".to_owned(),
                "value=\"2.5\"".to_owned(),
                "name=\"backlog\" value=\"true\" checked".to_owned(),
            ] {
                assert!(form.contains(&kept), "{path}: {kept}: {form}");
            }
            for not in ["value=\"entry.created\" checked", "name=\"includeContent\" value=\"true\" checked"] {
                assert!(!form.contains(not), "{path}: {not}: {form}");
            }
        }
        // Nothing was stored, and the page shows what is.
        let page = reader.page(&format!("/webhooks/{id}")).await;
        assert!(page.contains("value=\"https://receiver.example/hook\"") && !page.contains("10.0.0.1"), "{page}");
        assert!(page.contains("<details class=\"form\"><summary>"), "it is closed: {page}");
        assert_eq!(reader.server.get("/api/webhooks").await.ok(200).as_array().unwrap().len(), 1);
    }
}
