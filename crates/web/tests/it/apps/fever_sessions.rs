//! Sessions of Fever's clients, as their sources and documentation have them: `docs/apps.md` lists the calls.

use serde_json::{Value, json};

use super::filled::{Apps, form, id};
use crate::server::answer;

fn ids(list: &Value) -> Vec<i64> {
    list.as_array().unwrap().iter().map(id).collect()
}

fn listed(text: &Value) -> Vec<i64> {
    text.as_str().unwrap().split(',').filter(|id| !id.is_empty()).map(|id| id.parse().unwrap()).collect()
}

/// elfeed-protocol: first saved and unread ids and what they stand for, then ids counted up from the last, fifty at a time.
/// Marks go without `?api`, in the body.
#[tokio::test]
async fn s2_session_of_elfeed() {
    for apps in Apps::each().await {
        let (server, key) = (&apps.server, apps.fever_key());
        let call = async |query: &str| {
            let request = server.request("POST", &format!("/fever/?api{query}"));
            answer(form(request, &format!("api_key={key}"))).await.ok(200)
        };
        assert_eq!(call("&feeds").await["feeds"].as_array().unwrap().len(), 2);
        let mut last = 0;
        for list in ["saved_item_ids", "unread_item_ids"] {
            let found = call(&format!("&{list}")).await;
            let items = call(&format!("&items&with_ids={}", found[list].as_str().unwrap())).await;
            assert_eq!(ids(&items["items"]).len(), listed(&found[list]).len());
            last = ids(&items["items"]).into_iter().max().unwrap().max(last);
        }
        apps.add("Gamma", 2).await;
        let next: Vec<_> = (last + 1..=last + 50).map(|id| id.to_string()).collect();
        let items = call(&format!("&items&with_ids={}", next.join(","))).await;
        assert_eq!(ids(&items["items"]), [last + 1, last + 2], "ids are dense");
        for (state, expect) in
            [("read", (true, false)), ("saved", (true, true)), ("unsaved", (true, false)), ("unread", (false, false))]
        {
            let body = format!("api_key={key}&mark=item&id={}&as={state}", last + 1);
            answer(form(server.request("POST", "/fever/"), &body)).await.ok(200);
            let title = items["items"][0]["title"].as_str().unwrap();
            assert_eq!(apps.marks(title).await, expect, "{state}");
        }
    }
}

/// Reeder: groups, feeds, favicons and ids of both kinds, then items backwards from the newest until it knows one.
#[tokio::test]
async fn s2_session_of_reeder() {
    for apps in Apps::each().await {
        for call in ["", "groups", "feeds", "favicons", "unread_item_ids", "saved_item_ids"] {
            assert_eq!(apps.fever(call).await["auth"], 1, "{call}");
        }
        let (mut known, mut max) = (Vec::new(), 0);
        loop {
            let page = ids(&apps.fever(&format!("items&max_id={max}")).await["items"]);
            let Some(last) = page.last() else { break };
            max = *last;
            known.extend(page);
        }
        assert_eq!(known.len(), 6);
        apps.add("Gamma", 1).await;
        let newest = ids(&apps.fever("items&since_id=6").await["items"]);
        assert_eq!(newest, [7]);
        apps.fever("mark=item&as=read&id=7").await;
        assert_eq!(apps.marks("Gamma 1").await, (true, false));
        let before = apps.fever("").await["last_refreshed_on_time"].as_i64().unwrap() + 60;
        apps.fever(&format!("mark=feed&as=read&id={}&before={before}", apps.beta)).await;
        assert_eq!(apps.unread().await, ["Alpha 1", "Alpha 3"]);
    }
}

/// Unread and Fiery Feeds: `refresh` and parameters that nobody documents are passed over; several things in one call; what
/// was read elsewhere is known by comparing ids.
#[tokio::test]
async fn s2_session_of_unread_and_fiery_feeds() {
    for apps in Apps::each().await {
        let all = apps.fever_at("/api/fever.php", "refresh&groups&feeds&favicons&unknown=1", &apps.fever_key()).await;
        assert!(all["groups"].is_array() && all["feeds"].is_array() && all["favicons"].is_array(), "{all}");
        let lists = apps.fever("unread_item_ids&saved_item_ids").await;
        let mut wanted = listed(&lists["unread_item_ids"]);
        wanted.extend(listed(&lists["saved_item_ids"]));
        let wanted: Vec<_> = wanted.iter().map(ToString::to_string).collect();
        let items = apps.fever(&format!("items&with_ids={}", wanted.join(","))).await;
        assert_eq!(items["items"].as_array().unwrap().len(), 5);
        apps.mark("Alpha 1", &json!({ "isRead": true })).await;
        let read = apps.id_of("Alpha 1").await;
        assert!(!listed(&apps.fever("unread_item_ids").await["unread_item_ids"]).contains(&read));
        apps.fever(&format!("mark=item&as=saved&id={read}")).await;
        assert_eq!(listed(&apps.fever("saved_item_ids").await["saved_item_ids"]).len(), 2);
    }
}

/// NewsFlash: the key as multipart, each thing by itself, items since the last id until there are none.
#[tokio::test]
async fn s2_session_of_newsflash() {
    for apps in Apps::each().await {
        let (server, key) = (&apps.server, apps.fever_key());
        let body = format!("--b\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\n{key}\r\n--b--\r\n");
        let call = async |query: &str| {
            let request = server.request("POST", &format!("/fever/?api&{query}"));
            answer(request.header("content-type", "multipart/form-data; boundary=b").body(body.clone())).await.ok(200)
        };
        assert_eq!(call("").await["auth"], 1);
        assert_eq!(call("groups").await["feeds_groups"][0]["feed_ids"], apps.alpha.to_string());
        assert_eq!(call("feeds").await["feeds"].as_array().unwrap().len(), 2);
        assert!(call("favicons").await["favicons"].is_array());
        assert_eq!(call("links").await["links"], json!([]));
        let (mut since, mut found) = (0, 0);
        loop {
            let page = ids(&call(&format!("items&since_id={since}")).await["items"]);
            let Some(last) = page.last() else { break };
            (since, found) = (*last, found + page.len());
        }
        assert_eq!(found, 6);
        call(&format!("mark=item&as=saved&id={since}")).await;
        assert_eq!(listed(&call("saved_item_ids").await["saved_item_ids"]).len(), 2);
        call(&format!("mark=group&as=read&id={}&before=4102444800", apps.news)).await;
        assert_eq!(listed(&call("unread_item_ids").await["unread_item_ids"]).len(), 3);
    }
}
