//! Fever's API, call by call.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::filled::{Apps, fever_key, form, id, sorted, texts};
use crate::{
    page::icons::{PNG, find_icons},
    server::answer,
    world::rss,
};

const EVERYWHERE: [&str; 8] = [
    "/fever",
    "/fever/",
    "/fever.php",
    "/fever.php/",
    "/api/fever.php",
    "/api/fever.php/",
    "//fever/",
    "//api/fever.php",
];

fn ids(list: &Value) -> Vec<i64> {
    list.as_array().unwrap().iter().map(id).collect()
}

fn listed(text: &Value) -> Vec<i64> {
    text.as_str().unwrap().split(',').filter(|id| !id.is_empty()).map(|id| id.parse().unwrap()).collect()
}

#[tokio::test]
async fn s2_it_is_where_clients_look_for_it() {
    for apps in Apps::each().await {
        for path in EVERYWHERE {
            let answer = apps.fever_at(path, "", &apps.fever_key()).await;
            assert_eq!((&answer["api_version"], &answer["auth"]), (&json!(3), &json!(1)), "{path}");
            assert!(answer["last_refreshed_on_time"].as_i64().unwrap() > 1_700_000_000, "{answer}");
        }
    }
}

#[tokio::test]
async fn s2_a_wrong_key_is_answered_with_auth_0() {
    for apps in Apps::each().await {
        let wrong =
            [fever_key("reader", "wrong"), fever_key("reader", "correct horse"), String::new(), "x".repeat(9999)];
        for key in wrong {
            let answer = apps.fever_at("/fever/", "feeds&items&unread_item_ids&mark=item&as=read&id=1", &key).await;
            assert_eq!(answer, json!({ "api_version": 3, "auth": 0 }), "{key}");
        }
        let none = answer(apps.server.request("GET", "/fever/?api&feeds")).await.ok(200);
        assert_eq!(none, json!({ "api_version": 3, "auth": 0 }));
        assert_eq!(apps.unread().await.len(), 5);
    }
}

#[tokio::test]
async fn s2_parameters_come_in_query_form_or_multipart() {
    for apps in Apps::each().await {
        let (server, key) = (&apps.server, apps.fever_key());
        let upper = key.to_uppercase();
        let multipart = format!("--x\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\n{key}\r\n--x--\r\n");
        for request in [
            form(server.request("POST", "/fever/?api&feeds"), &format!("api_key={key}")),
            form(server.request("POST", "/fever/?api&feeds"), &format!("api_key={upper}")),
            form(server.request("POST", "/fever/?api"), &format!("feeds=&api_key={key}")),
            form(server.request("POST", "/fever/"), &format!("api_key={key}&feeds")),
            server.request("GET", &format!("/fever/?api&feeds&api_key={key}")),
            server.request("POST", &format!("/fever/?api&feeds&api_key={key}")),
            server
                .request("POST", "/fever/?api&feeds")
                .header("content-type", "multipart/form-data; boundary=x")
                .body(multipart),
        ] {
            let answer = answer(request).await.ok(200);
            assert_eq!(answer["feeds"].as_array().map(Vec::len), Some(2), "{answer}");
        }
        let broken = server.request("POST", "/fever/?api").header("content-type", "multipart/form-data; boundary=x");
        assert_eq!(answer(broken.body("--y")).await.status, 400);
        let large = form(server.request("POST", "/fever/?api"), &"x".repeat(100_000));
        assert_eq!(answer(large).await.status, 413);
    }
}

#[tokio::test]
async fn s2_groups_and_feeds() {
    for apps in Apps::each().await {
        let answer = apps.fever("groups&feeds&links&favicons").await;
        assert_eq!(answer["groups"], json!([{ "id": apps.news, "title": "News" }]));
        assert_eq!(answer["feeds_groups"], json!([{ "group_id": apps.news, "feed_ids": apps.alpha.to_string() }]));
        let feeds = answer["feeds"].as_array().unwrap();
        assert_eq!(texts(&answer["feeds"], "title"), ["Alpha", "Beta"]);
        let alpha = &feeds[0];
        assert_eq!((id(alpha), &alpha["is_spark"]), (apps.alpha, &json!(0)));
        assert_eq!(alpha["site_url"], "https://news.example/");
        assert!(alpha["url"].as_str().unwrap().ends_with("/alpha.xml"));
        assert!(alpha["last_updated_on_time"].as_i64().unwrap() > 0 && alpha["favicon_id"].is_number(), "{alpha}");
        assert_eq!((&answer["links"], answer["favicons"].is_array()), (&json!([]), true));
        assert!(answer.get("items").is_none() && answer.get("unread_item_ids").is_none(), "only what is asked for");
    }
}

#[tokio::test]
async fn s2_favicons_are_those_that_feeds_name() {
    for apps in Apps::each().await {
        assert_eq!(apps.fever("favicons").await["favicons"], json!([]));
        find_icons(&*apps.store).await;
        let answer = apps.fever("feeds&favicons").await;
        let icon = answer["feeds"][0]["favicon_id"].clone();
        assert_eq!(answer["feeds"][1]["favicon_id"], icon);
        let data = format!("image/png;base64,{}", STANDARD.encode(PNG));
        assert_eq!(answer["favicons"], json!([{ "id": icon, "data": data }]), "once for both");
    }
}

#[tokio::test]
async fn s2_items_are_paged_by_their_ids() {
    for apps in Apps::each().await {
        apps.add("Many", 120).await;
        let (mut all, mut since) = (Vec::new(), 0);
        loop {
            let page = apps.fever(&format!("items&since_id={since}")).await;
            assert_eq!(page["total_items"], 126);
            let ids = ids(&page["items"]);
            let Some(last) = ids.last() else { break };
            assert!(ids.len() <= 50 && ids.is_sorted(), "{ids:?}");
            since = *last;
            all.extend(ids);
        }
        assert_eq!(all.len(), 126);
        let (mut back, mut max) = (Vec::new(), 0);
        loop {
            let page = apps.fever(&format!("items&max_id={max}")).await;
            let ids = ids(&page["items"]);
            let Some(last) = ids.last() else { break };
            assert!(ids.is_sorted_by(|one, other| one > other), "{ids:?}");
            max = *last;
            back.extend(ids);
        }
        back.reverse();
        assert_eq!(back, all);
        let wanted = format!("items&with_ids={},{},999999,x,{}", all[3], all[1], all[3]);
        assert_eq!(ids(&apps.fever(&wanted).await["items"]), [all[1], all[3]]);
        let many: Vec<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(ids(&apps.fever(&format!("items&with_ids={}", many.join(","))).await["items"]).len(), 50);
        assert_eq!(ids(&apps.fever("items&with_ids=").await["items"]), [0; 0]);
        assert_eq!(ids(&apps.fever("items").await["items"]), all[..50]);
        assert_eq!(ids(&apps.fever("items&since_id=x").await["items"]), all[..50]);
    }
}

#[tokio::test]
async fn s2_the_first_item_is_there_for_who_begins_with_1() {
    for apps in Apps::each().await {
        let all = ids(&apps.fever("items").await["items"]);
        assert_eq!(ids(&apps.fever("items&since_id=1").await["items"]), all, "one client takes ids for times");
        assert_eq!(all[0], 1, "ids are small and dense");
        assert_eq!(all, (1..=6).collect::<Vec<_>>());
        let last = all.last().unwrap();
        assert_eq!(ids(&apps.fever(&format!("items&since_id={last}")).await["items"]), [0; 0]);
    }
}

#[tokio::test]
async fn s2_an_item_has_what_clients_show() {
    for apps in Apps::each().await {
        let one = apps.id_of("Alpha 2").await;
        let answer = apps.fever(&format!("items&with_ids={one}")).await;
        assert_eq!(
            answer["items"],
            json!([{
                "id": one,
                "feed_id": apps.alpha,
                "title": "Alpha 2",
                "author": "",
                "html": "about word2",
                "url": "https://news.example/2",
                "is_saved": 0,
                "is_read": 1,
                "created_on_time": 1_704_067_320,
            }])
        );
    }
}

#[tokio::test]
async fn s2_ids_of_unread_and_saved_items() {
    for apps in Apps::each().await {
        let answer = apps.fever("unread_item_ids&saved_item_ids").await;
        let mut unread = Vec::new();
        for title in apps.unread().await {
            unread.push(apps.id_of(&title).await);
        }
        unread.sort_unstable();
        let mut listed_ids = listed(&answer["unread_item_ids"]);
        listed_ids.sort_unstable();
        assert_eq!(listed_ids, unread);
        assert_eq!(listed(&answer["saved_item_ids"]), [apps.id_of("Beta 2").await]);
        apps.fever("mark=group&as=read&id=0").await;
        assert_eq!(apps.fever("unread_item_ids").await["unread_item_ids"], "");
    }
}

#[tokio::test]
async fn s2_items_are_marked() {
    for apps in Apps::each().await {
        let one = apps.id_of("Alpha 1").await;
        for (mark, expect) in [
            ("read", (true, false)),
            ("read", (true, false)),
            ("unread", (false, false)),
            ("saved", (false, true)),
            ("saved", (false, true)),
            ("read", (true, true)),
            ("unsaved", (true, false)),
            ("nonsense", (true, false)),
        ] {
            let answer = apps.fever(&format!("mark=item&as={mark}&id={one}")).await;
            assert_eq!((&answer["auth"], apps.marks("Alpha 1").await), (&json!(1), expect), "{mark}");
        }
        for nothing in ["mark=item&as=read&id=999999", "mark=item&as=read&id=x", "mark=item&as=read&id=-1", "mark=item"]
        {
            apps.fever(nothing).await;
        }
        assert_eq!(apps.unread().await, ["Alpha 3", "Beta 1", "Beta 2", "Beta 3"]);
    }
}

#[tokio::test]
async fn s2_feeds_and_groups_are_marked_up_to_a_time() {
    for apps in Apps::each().await {
        let later = apps.fever("").await["last_refreshed_on_time"].as_i64().unwrap() + 3600;
        for nothing in [
            format!("mark=feed&as=read&id={}&before=1", apps.beta),
            format!("mark=feed&as=unread&id={}&before={later}", apps.beta),
            format!("mark=group&as=read&id=-1&before={later}"),
            format!("mark=group&as=read&id=999999&before={later}"),
            format!("mark=feed&as=read&id=999999&before={later}"),
        ] {
            apps.fever(&nothing).await;
            assert_eq!(apps.unread().await.len(), 5, "{nothing}");
        }
        apps.fever(&format!("mark=feed&as=read&id={}&before={later}", apps.beta)).await;
        assert_eq!(apps.unread().await, ["Alpha 1", "Alpha 3"]);
        apps.fever(&format!("mark=group&as=read&id={}&before={later}", apps.news)).await;
        assert_eq!(apps.unread().await, [""; 0]);
        apps.mark("Beta 1", &json!({ "isRead": false })).await;
        apps.fever(&format!("mark=group&as=read&id=0&before={later}")).await;
        assert_eq!(apps.unread().await, [""; 0], "group 0 is everything");
    }
}

#[tokio::test]
async fn s2_what_was_read_lately_is_unread_again() {
    for apps in Apps::each().await {
        apps.fever("mark=group&as=read&id=0").await;
        assert_eq!(apps.unread().await, [""; 0]);
        apps.fever("unread_recently_read=0").await;
        assert_eq!(apps.unread().await, [""; 0]);
        apps.fever("unread_recently_read=1").await;
        assert_eq!(apps.unread().await.len(), 6);
    }
}

#[tokio::test]
async fn s2_what_came_in_read_is_not_unread_again() {
    for apps in Apps::each().await {
        apps.update(apps.alpha, "/alpha.xml", &rss("Alpha", 1)).await;
        let token = apps.other_token().await;
        let request = apps.server.request("POST", "/v1/feeds").header("x-auth-token", &token);
        let body = json!({ "feed_url": apps.publisher.url("/alpha.xml") }).to_string();
        answer(request.header("content-type", "application/json").body(body)).await.ok(201);
        let key = fever_key("ann", &token);
        let unread = async |query: &str| {
            listed(&apps.fever_at("/fever/", &format!("unread_item_ids&{query}"), &key).await["unread_item_ids"])
        };
        let first = unread("").await;
        assert_eq!(first.len(), 1, "two that are no longer in the document came in read");
        assert_eq!(unread("unread_recently_read=1").await, first);
        assert_eq!(unread(&format!("mark=item&as=read&id={}", first[0])).await, [0; 0]);
        assert_eq!(unread("unread_recently_read=1").await, first, "only what was read");
    }
}

#[tokio::test]
async fn s2_nothing_of_another_account_is_shown_or_marked() {
    for apps in Apps::each().await {
        let key = fever_key("ann", &apps.other_token().await);
        let one = apps.id_of("Alpha 1").await;
        let query =
            format!("groups&feeds&items&with_ids={one}&unread_item_ids&saved_item_ids&mark=item&as=saved&id={one}");
        let answer = apps.fever_at("/fever/", &query, &key).await;
        for empty in ["groups", "feeds", "feeds_groups", "items"] {
            assert_eq!(answer[empty], json!([]), "{empty}");
        }
        assert_eq!((&answer["unread_item_ids"], &answer["total_items"]), (&json!(""), &json!(0)));
        let feed = format!("mark=feed&as=read&id={}", apps.alpha);
        let group = format!("mark=group&as=read&id={}", apps.news);
        for mark in [feed.as_str(), group.as_str(), "mark=group&as=read&id=0", "unread_recently_read=1"] {
            apps.fever_at("/fever/", mark, &key).await;
        }
        assert_eq!((apps.unread().await.len(), apps.marks("Alpha 1").await), (5, (false, false)));
    }
}

#[tokio::test]
async fn s2_a_token_for_reading_marks_nothing() {
    for apps in Apps::each().await {
        let key = fever_key("reader", &apps.new_token("read").await);
        assert_eq!(sorted(texts(&apps.fever_at("/fever/", "feeds", &key).await["feeds"], "title")), ["Alpha", "Beta"]);
        let request = apps.server.request("POST", "/fever/?api&mark=group&as=read&id=0");
        answer(form(request, &format!("api_key={key}"))).await.error(403);
        assert_eq!(apps.unread().await.len(), 5);
    }
}

#[tokio::test]
async fn s2_a_revoked_token_or_another_name_ends_the_key() {
    for apps in Apps::each().await {
        let tokens = apps.api("GET", "/api/tokens", &Value::Null).await.ok(200);
        apps.api("PATCH", "/api/accounts/1", &json!({ "name": "ben" })).await.ok(200);
        let bens = fever_key("ben", &apps.new_token("write").await);
        assert_eq!(apps.fever_at("/fever/", "", &bens).await["auth"], 1, "a new token is made of the new name");
        let renamed = fever_key("ben", &apps.token);
        assert_eq!(apps.fever_at("/fever/", "", &renamed).await["auth"], 0, "the old one is of the old name");
        let path = format!("/api/tokens/{}", tokens[0]["id"]);
        assert_eq!(apps.api("DELETE", &path, &Value::Null).await.status, 204);
        assert_eq!(apps.fever("").await["auth"], 0);
    }
}
