//! The description of the API is whole: what is served is described, and what is described is served.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;
use web::WebSettings;

use crate::{
    server::Server,
    stubs::{Down, NoNetwork},
};

/// All that is served, by the rows of the specification.
const ROUTES: [&str; 69] = [
    "POST /api/feeds",              // F1
    "POST /api/refresh",            // F5
    "POST /api/feeds/{id}/refresh", // F5
    "GET /api/feeds",               // F6, from here
    "GET /api/feeds/{id}",
    "PATCH /api/feeds/{id}",
    "DELETE /api/feeds/{id}",
    "GET /api/feeds/{id}/icon", // U1
    "GET /api/folders",
    "POST /api/folders",
    "PATCH /api/folders/{id}",
    "DELETE /api/folders/{id}",
    "PATCH /api/folders/reorder",
    "GET /api/entries",
    "PATCH /api/entries",
    "GET /api/entries/{id}",
    "PATCH /api/entries/{id}",
    "POST /api/entries/mark-read",
    "GET /api/counts",
    "GET /api/events", // U2
    "GET /api/opml/export",
    "POST /api/opml/import",
    "GET /api/websub/callback", // W3, from here
    "POST /api/websub/callback",
    "GET /api/websub/callback/{token}",
    "POST /api/websub/callback/{token}",
    "POST /api/websub/renew",         // W7
    "POST /api/feeds/{id}/subscribe", // W11
    "POST /api/feeds/{id}/unsubscribe",
    "GET /api/websub/subscriptions", // W13
    "GET /api/webhooks",             // D1, from here
    "POST /api/webhooks",
    "GET /api/webhooks/{id}",
    "PATCH /api/webhooks/{id}",
    "DELETE /api/webhooks/{id}",
    "POST /api/webhooks/{id}/test",
    "POST /api/webhooks/{id}/rotate-secret",
    "POST /api/webhooks/{id}/replay",
    "GET /api/outbox/overview", // D10, from here
    "GET /api/outbox/deliveries",
    "GET /api/outbox/deliveries/{id}",
    "POST /api/outbox/deliveries/{id}/requeue",
    "POST /api/outbox/deliveries/{id}/cancel",
    "POST /api/outbox/requeue",
    "GET /api/outbox/events", // the old paths of D10, from here
    "GET /api/outbox/events/{id}",
    "POST /api/outbox/events/{id}/requeue",
    "POST /api/outbox/events/{id}/cancel",
    "GET /api/stats",    // U3
    "POST /api/session", // A4, from here
    "DELETE /api/session",
    "GET /api/account/settings", // A1
    "PATCH /api/account/settings",
    "GET /api/sessions",
    "DELETE /api/sessions/{id}",
    "GET /api/account", // A1, from here
    "PATCH /api/account",
    "GET /api/accounts",
    "POST /api/accounts",
    "GET /api/accounts/{id}",
    "PATCH /api/accounts/{id}",
    "DELETE /api/accounts/{id}",
    "GET /api/tokens", // A5, from here
    "POST /api/tokens",
    "DELETE /api/tokens/{id}",
    "GET /healthz", // U6, from here
    "GET /readyz",
    "GET /metrics",
    "GET /api/openapi.json",
];

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

async fn server() -> Server {
    Server::start(Arc::new(Down::Unavailable), Arc::new(NoNetwork), WebSettings::default()).await
}

/// What a description has: each method with its path.
pub fn operations(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap();
    let named = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    named.collect()
}

#[tokio::test]
async fn u6_description_matches_routes() {
    let server = server().await;
    let document = server.get("/api/openapi.json").await.ok(200);
    let expected: BTreeSet<_> = ROUTES.iter().map(ToString::to_string).collect();
    assert_eq!(operations(&document), expected);
    for path in document["paths"].as_object().unwrap().keys() {
        for method in METHODS {
            let answer = server.call(method, &path.replace("{id}", "1")).await;
            let is_served = answer.status != 405 && !answer.text.contains("no such path");
            assert_eq!(is_served, expected.contains(&format!("{method} {path}")), "{method} {path}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn u6_description_has_errors_and_no_dangling_references() {
    let document: Value = serde_json::from_slice(&web::openapi_json()).unwrap();
    assert_eq!(document["info"]["title"], "piRSSonite");
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            assert!(operation["operationId"].is_string(), "{operation}");
            assert_eq!(operation["responses"]["default"]["$ref"], "#/components/responses/Error", "{operation}");
        }
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn d10_u6_old_paths_are_described_as_deprecated() {
    let document: Value = serde_json::from_slice(&web::openapi_json()).unwrap();
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            assert_eq!(operation["deprecated"] == true, path.starts_with("/api/outbox/events"), "{path}");
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{path}: an id is there twice");
        }
    }
}

#[test]
fn u6_described_shapes_match_requirements() {
    let document: Value = serde_json::from_slice(&web::openapi_json()).unwrap();
    let schemas = &document["components"]["schemas"];
    for (name, fields) in [
        (
            "Feed",
            "id url siteUrl title customTitle folderId lastFetchedAt nextCheckAt failureCount lastError isGone \
                  unreadCount pollInterval pushEnabled subscription hasCredentials iconId",
        ),
        ("Folder", "id name order"),
        (
            "Entry",
            "id feedId guid url title author summary content excerpt publishedAt updatedAt sortAt isRead isStarred \
                   categories enclosures",
        ),
        (
            "Subscription",
            "feedId hubUrl topicUrl state isActive leaseSeconds expiresAt errorCount lastError lastPushAt pushCount \
             missCount",
        ),
        ("RenewSummary", "renewed failed pending results"),
        ("RenewResult", "feedId status error errorCount newExpiresAt"),
        ("EntryPage", "entries nextCursor"),
        (
            "Webhook",
            "id url description enabled eventTypes feedIds folderIds headers includeContent backlog \
             consecutiveFailures disabledReason createdAt ratePerSecond breakerOpen heldUntil",
        ),
        (
            "NewWebhook",
            "url description enabled eventTypes feedIds folderIds headers includeContent backlog ratePerSecond",
        ),
        ("DeliveryPage", "events nextCursor"),
        ("Overview", "pending ready inFlight failed oldestPendingAge"),
        ("Attempt", "number at durationMs statusCode answer error"),
        ("Account", "id name isAdmin hasPassword createdAt"),
        ("Session", "id createdAt lastUsedAt address userAgent isCurrent"),
        ("Token", "id name scope createdAt lastUsedAt expiresAt"),
        ("Counts", "total starred byFolder byFeed"),
        ("ImportSummary", "imported skipped errors"),
        ("FeedPatch", "title url hasCredentials folderId pollInterval pushEnabled"),
        ("NewFeed", "url folderId title"),
        ("Error", "error feedId"),
    ] {
        let described: BTreeSet<_> =
            schemas[name]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, fields.split_whitespace().collect(), "{name}");
    }
    assert_eq!(schemas["Entry"]["properties"]["sortAt"]["format"], "date-time");
}

fn collect_references<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            into.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| collect_references(value, into));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_references(value, into)),
        _ => {}
    }
}
