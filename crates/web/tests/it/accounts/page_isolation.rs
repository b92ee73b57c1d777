//! The pages and their forms, asked by somebody else: what is one account's is on no page of another's.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::{Client, RequestBuilder, redirect::Policy};

use super::{
    Cluster,
    isolation::{MARK, STRANGERS},
};
use crate::server::{Answer, answer};

/// The program's own list of its pages.
const ROUTES: &str = include_str!("../../../src/pages/mod.rs");

/// Those that are the same for everybody, and pictures, whose addresses are signed.
const OPEN: [&str; 9] = [
    "GET /assets/{name}",
    "GET /assets/login.css",
    "GET /assets/icon.svg",
    "GET /favicon.ico",
    "GET /robots.txt",
    "GET /login",
    "POST /login",
    "POST /logout",
    "GET /pictures/{signature}/{place}",
];

/// Pages that everybody has.
const OWN: [&str; 10] =
    ["/", "/unread", "/all", "/starred", "/search", "/push", "/webhooks", "/status", "/settings", "/feed-icons.css"];

/// Forms that are for administrators: what they do to others, and to all subscriptions.
const ADMINS_FORMS: [(&str, &str); 5] = [
    ("/settings", "do=set-password&password=battery+staple"),
    ("/settings", "do=admin"),
    ("/settings", "do=no-admin"),
    ("/settings", "do=remove-account"),
    ("/push", "do=renew"),
];

/// The forms of a page about one thing.
fn forms_about(page: &str) -> &'static [&'static str] {
    match page {
        "/entry/{id}" => &["isRead=true", "isStarred=true", "back=/all"],
        "/webhooks/{id}" => &[
            "do=change&url=https%3A%2F%2Fmine.example%2F",
            "do=enable",
            "do=disable",
            "do=test",
            "do=rotate",
            "do=replay&hours=24",
            "do=requeue",
            "do=remove",
        ],
        "/deliveries/{id}" => &["do=requeue", "do=cancel&reason=mine"],
        _ => &[],
    }
}

/// Asks for every page and by every form as each of these, who must not find anything of hers; and as nobody, who must not
/// find anything at all.
pub(super) async fn walk(
    cluster: &Cluster,
    ann: i64,
    things: &BTreeMap<&'static str, String>,
    strangers: [&String; 2],
) {
    let [bob, _] = strangers;
    let browser = Browser::new(cluster);
    let mut walked = BTreeSet::new();
    for (page, id) in [
        ("/feed/{id}", &things["/api/feeds"]),
        ("/folder/{id}", &things["/api/folders"]),
        ("/entry/{id}", &things["/api/entries"]),
        ("/webhooks/{id}", &things["/api/webhooks"]),
        ("/deliveries/{id}", &things["/api/outbox/deliveries"]),
    ] {
        let path = page.replace("{id}", id);
        for stranger in strangers {
            browser.expects(stranger, "GET", &path, None, 404).await;
            for form in forms_about(page) {
                browser.expects(stranger, "POST", &path, Some(form), 404).await;
            }
        }
        walked.insert(format!("GET {page}"));
        if let [form, ..] = forms_about(page) {
            browser.is_sent_to_login("POST", &path, Some(form)).await;
            walked.insert(format!("POST {page}"));
        }
        browser.is_sent_to_login("GET", &path, None).await;
    }

    for page in OWN {
        // In other letters than hers, as the page repeats them.
        let query = if page == "/search" { format!("?q={}", MARK.to_uppercase()) } else { String::new() };
        for stranger in strangers {
            let status = if page == "/" { 303 } else { 200 };
            browser.expects(stranger, "GET", &format!("{page}{query}"), None, status).await;
        }
        browser.is_sent_to_login("GET", page, None).await;
        walked.insert(format!("GET {page}"));
    }

    let (feed, folder) = (&things["/api/feeds"], &things["/api/folders"]);
    let mut forms = vec![
        ("/preferences", "theme=dark&back=/all".to_owned(), 303),
        // Its answer is the secret of a webhook of one's own.
        ("/webhooks", "url=https%3A%2F%2Fmine.example%2F".to_owned(), 200),
        ("/status", format!("do=refresh&feed={feed}"), 404),
        ("/push", format!("do=subscribe&feed={feed}"), 404),
        ("/push", format!("do=unsubscribe&feed={feed}"), 404),
        ("/settings", format!("do=end-session&id={}", things["/api/sessions"]), 404),
        ("/settings", format!("do=revoke&id={}", things["/api/tokens"]), 404),
    ];
    for list in [
        "/all".to_owned(),
        "/starred".to_owned(),
        format!("/feed/{feed}"),
        format!("/folder/{folder}"),
        format!("/feed/{feed}%3Fshow%3Dstarred"),
    ] {
        forms.push(("/mark-read", format!("list={list}&before=2999-01-01T00:00:00Z"), 303));
    }
    for (page, form, status) in &forms {
        for stranger in strangers {
            browser.expects(stranger, "POST", page, Some(form), *status).await;
        }
        browser.is_sent_to_login("POST", page, Some(form)).await;
        walked.insert(format!("POST {page}"));
    }
    for (page, form) in ADMINS_FORMS {
        browser.expects(bob, "POST", page, Some(&format!("{form}&id={ann}")), 403).await;
    }
    assert_eq!(served(), walked, "a page that nobody asked for: add it here");
}

/// The pages that there are, but for those that are open.
fn served() -> BTreeSet<String> {
    let mut served = BTreeSet::new();
    for route in ROUTES.split(".route(").skip(1) {
        let route = route.lines().next().unwrap();
        let path = route.split('"').nth(1).unwrap_or("/feed-icons.css");
        for (method, call) in [("GET", "get("), ("POST", "post(")] {
            let is_served = [format!(" {call}"), format!(".{call}")].iter().any(|call| route.contains(call.as_str()));
            let name = format!("{method} {path}");
            if is_served && !OPEN.contains(&name.as_str()) {
                served.insert(name);
            }
        }
    }
    served
}

/// As a browser asks that follows nothing.
struct Browser<'a> {
    cluster: &'a Cluster,
    client: Client,
}

impl<'a> Browser<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        Self { cluster, client: Client::builder().no_proxy().redirect(Policy::none()).build().unwrap() }
    }

    async fn expects(&self, cookie: &str, method: &str, path: &str, form: Option<&str>, status: u16) {
        let request = self.request(method, path, form).header("cookie", cookie);
        let answer = answer(request.header("x-request-id", STRANGERS)).await;
        assert_eq!(answer.status, status, "{method} {path} {form:?}: {answer:?}");
        tells_nothing(&answer);
    }

    /// Whoever is not logged in is sent to the login, and changes nothing.
    async fn is_sent_to_login(&self, method: &str, path: &str, form: Option<&str>) {
        let answer = answer(self.request(method, path, form)).await;
        let (status, is_sent) = if method == "GET" { (303, true) } else { (401, false) };
        assert_eq!(answer.status, status, "{method} {path} {form:?}: {answer:?}");
        assert_eq!(answer.header("location").starts_with("/login"), is_sent, "{answer:?}");
        tells_nothing(&answer);
    }

    fn request(&self, method: &str, path: &str, form: Option<&str>) -> RequestBuilder {
        let url = &self.cluster.server.url;
        let request = self.client.request(method.parse().unwrap(), format!("{url}{path}"));
        let request = request.header("accept", "text/html").header("origin", url);
        match form {
            Some(form) => request.header("content-type", "application/x-www-form-urlencoded").body(form.to_owned()),
            None => request,
        }
    }
}

fn tells_nothing(answer: &Answer) {
    let shown = format!("{:?}{}", answer.headers, answer.text);
    assert!(!shown.contains(MARK), "{shown}");
}
