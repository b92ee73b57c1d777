//! S4: what an app marks is on the open page, and what is marked on the page is there at the app's next sync.

use serde_json::{Value, json};

use super::{App, READ, READING_LIST, STARRED};
use crate::{
    apps::{Reader, filled::Apps},
    events::Events,
};

#[tokio::test(flavor = "multi_thread")]
async fn s4_what_an_app_marks_is_on_the_open_page() {
    for reader in Reader::each().await {
        let (alpha, _) = reader.filled().await;
        let app = App::with_password(&reader).await;
        let mut events = Events::of(reader.server.request("GET", "/api/events").header("cookie", &reader.cookie)).await;
        let id = reader.entry("Alpha 1").await["id"].clone();
        app.change("edit-tag", &[("i", &id.to_string()), ("a", READ), ("a", STARRED)]).await;
        let marks = events.until("marks").await.data;
        assert_eq!((&marks["feedId"], &marks["ids"]), (&json!(alpha), &json!([id])));
        let counts = events.until("counts").await.data;
        assert_eq!((&counts["total"], &counts["starred"]), (&json!(4), &json!(2)));
        // Twice is once: the next that is heard of is the next that changes something.
        app.change("edit-tag", &[("i", &id.to_string()), ("a", READ), ("a", STARRED)]).await;
        app.change("mark-all-as-read", &[("s", READING_LIST)]).await;
        assert_eq!(events.until("counts").await.data["total"], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_what_fever_and_miniflux_mark_is_on_the_open_page() {
    for apps in Apps::each().await {
        let mut events = Events::of(apps.server.request("GET", "/api/events").header("cookie", &apps.cookie)).await;
        let (one, two) = (apps.id_of("Alpha 1").await, apps.id_of("Beta 1").await);
        apps.fever(&format!("mark=item&as=read&id={one}")).await;
        let marks = events.until("marks").await.data;
        assert_eq!((&marks["feedId"], &marks["ids"]), (&json!(apps.alpha), &json!([one])));
        let status = json!({ "entry_ids": [two], "status": "read" });
        assert_eq!(apps.v1("PUT", "/entries", &status).await.status, 204);
        let marks = events.until("marks").await.data;
        assert_eq!((&marks["feedId"], &marks["ids"]), (&json!(apps.beta), &json!([two])));
        let star = apps.v1("PUT", &format!("/entries/{two}/bookmark"), &Value::Null).await;
        assert_eq!((star.status, &events.until("marks").await.data["ids"]), (204, &json!([two])));
    }
}

#[tokio::test]
async fn s4_what_the_page_marks_is_there_at_the_next_sync() {
    for reader in Reader::each().await {
        reader.filled().await;
        let app = App::with_token(&reader).await;
        let unread = async || {
            let refs = app.json("stream/items/ids", &[("s", READING_LIST), ("xt", READ), ("n", "1000")]).await;
            refs["itemRefs"].as_array().unwrap().len()
        };
        assert_eq!(unread().await, 5);
        reader.mark("Beta 1", &json!({ "isRead": true, "isStarred": true })).await;
        assert_eq!(unread().await, 4);
        let mut starred = app.titles(STARRED, &[]).await;
        starred.sort();
        assert_eq!(starred, ["Beta 1", "Beta 2"]);
    }
}
