//! The judge under test: a judge that could not say no would make every floor worthless.

use serde_json::{Value, json};

use super::{
    FILES_IN_ERROR_MAX, Floor, Outcome, Scored,
    html::is_safe,
    score::{Expectation, Op, is_met},
};

fn expectation(path: &str, op: Op, value: Value) -> Expectation {
    let (file, cat, tier) = ("own.xml".to_owned(), "own".to_owned(), "core".to_owned());
    Expectation { file, path: path.to_owned(), op, value, cat, tier, flags: Vec::new() }
}

/// A model with something of every kind.
fn model() -> Value {
    json!({
        "feed": {
            "title": {"value": "a < b", "type": "text/plain"},
            "link": "https://example.org/",
            "language": null,
            "image": {"width": "80"},
            "ttl": 0,
            "links": [{"rel": null, "href": "https://example.org/"}, {"rel": "self", "href": "https://example.org/feed"}],
        },
        "entries": [
            {
                "title": {"value": "<b>One</b>  &amp; two", "type": "text/html"},
                "summary": null,
                "content": [{"value": "<div><p id='a' class='b'>Text</p></div>", "type": "text/html"}],
                "updated": "2004-01-01T20:48:21.5+01:00",
                "authors": [{"name": "Ann", "email": "ann@example.org", "url": null}, {"name": "Bob"}],
                "guidislink": true,
                "tags": [],
            },
            {"title": {"value": "<p>Hi<script>alert(1)</script>", "type": "text/html"}, "content": []},
        ],
    })
}

#[track_caller]
fn check(path: &str, op: Op, value: Value, met: bool) {
    let expectation = expectation(path, op, value);
    assert_eq!(is_met(&expectation, &model()), met, "{expectation:?}");
}

#[test]
fn html_is_compared_as_a_browser_reads_it() {
    check("entries[0].title", Op::Html, json!("<B>One</B> & two"), true);
    check("entries[0].title", Op::Html, json!("<i>One</i> & two"), false);
    check("feed.title", Op::Html, json!("a &lt; b"), true);
    check("feed.title", Op::Html, json!("a &lt; c"), false);
    check("entries[0].content[0].value", Op::Html, json!("<p class=\"b\" id=\"a\"> Text</p>"), false);
    check("entries[0].content[0].value", Op::Html, json!("<p class=\"b\" id=\"a\">Text"), true);
    check("entries[0].summary", Op::Html, json!("<p class=b id=a>Text</p>"), true);
    check("entries[1].summary", Op::Html, json!("Text"), false);
    check("entries[1].summary", Op::Html, json!(" "), true);
}

#[test]
fn values_are_compared_by_what_they_mean() {
    check("feed.link", Op::Eq, json!("https://example.org"), true);
    check("feed.link", Op::Eq, json!("https://example.com"), false);
    check("feed.link", Op::Ne, json!("https://example.com"), true);
    check("feed.link", Op::Ne, json!("https://example.org/"), false);
    check("feed.links[0].href", Op::Eq, json!("https://example.org/feed"), true);
    check("feed.links[0].rel", Op::Eq, json!("alternate"), true);
    check("feed.links[0].rel", Op::Eq, json!("via"), false);
    check("feed.title.type", Op::Eq, json!("text"), true);
    check("feed.title.type", Op::Eq, json!("html"), false);
    check("feed.image.width", Op::Eq, json!(80.0), true);
    check("feed.image.width", Op::Eq, json!(81), false);
    check("entries[0].guidislink", Op::Eq, json!("true"), true);
    check("entries[0].guidislink", Op::Eq, json!(false), false);
    check("entries[1].title", Op::Eq, json!("<b>One</b> &amp; two"), false);
    check("entries[2].title", Op::Eq, json!("Three"), false);
}

#[test]
fn instants_and_authors_have_more_than_one_form() {
    check("entries[0].updated", Op::Instant, json!("2004-01-01T19:48:21Z"), true);
    check("entries[0].updated", Op::Instant, json!("2004-01-01T19:48:22Z"), false);
    check("entries[1].updated", Op::Instant, json!("2004-01-01T19:48:21Z"), false);
    check("entries[0].author", Op::AuthorDisplay, json!("Ann (ann@example.org)"), true);
    check("entries[0].author", Op::AuthorDisplay, json!("Bob"), false);
    check("entries[0].author.name", Op::AuthorDisplay, json!("Ann"), true);
    check("entries[0].author.email", Op::Eq, json!("ann@example.org"), true);
}

#[test]
fn presence_and_number_are_seen() {
    check("entries", Op::Len, json!(2), true);
    check("entries", Op::Len, json!(3), false);
    check("feed.language", Op::Absent, Value::Null, true);
    check("feed.link", Op::Absent, Value::Null, false);
    check("feed.link", Op::Present, Value::Null, true);
    check("feed.language", Op::Present, Value::Null, false);
    check("feed.ttl", Op::Falsy, Value::Null, true);
    check("entries[0].guidislink", Op::Falsy, Value::Null, false);
    check("entries[0].guidislink", Op::Truthy, Value::Null, true);
    check("entries[0].tags", Op::Truthy, Value::Null, false);
}

/// Requirement F3, from the other side: what the judge must never let through.
#[test]
fn f3_active_content_is_seen() {
    check("entries[0].title", Op::Safe, Value::Null, true);
    check("entries[1].title", Op::Safe, Value::Null, false);
    check("feed.title", Op::Safe, Value::Null, true);
    for active in [
        "<script>alert(1)</script>",
        "<p><IMG SRC=x OnError=alert(1)>",
        "<a href=' java\nscript:alert(1)'>a</a>",
        "<a href='data:text/html,x'>a</a>",
        "<p style='width: expression (alert(1))'>",
        "<svg><a xlink:href='javascript:alert(1)'>a</a></svg>",
        "<svg><script>alert(1)</script></svg>",
        "<template><iframe src=x></iframe></template>",
        "<noscript><style>p {}</style></noscript>",
    ] {
        assert!(!is_safe(active), "{active}");
    }
    for inert in ["<p>Text</p>", "&lt;script>", "<a href='https://example.org/javascript'>a</a>", "<!-- <script> -->"] {
        assert!(is_safe(inert), "{inert}");
    }
}

#[test]
fn a_floor_fails_below_it_and_on_another_corpus() {
    let model = Ok(model());
    let outcome = |title| Outcome::of(expectation("feed.title", Op::Html, json!(title)), &model);
    let scored = Scored { outcomes: vec![outcome("a < b"), outcome("c")], errors: Vec::new() };
    let fault = |met, of| scored.fault(&Floor::new("own", met, of, 0), |_| true);
    assert_eq!(fault(1, 2), None);
    assert_eq!(fault(0, 2), None);
    let below = fault(2, 2).expect("one of two is below two");
    assert!(below.contains(r#"own.xml: feed.title Html: wanted "c", got [{"value":"a < b""#), "{below}");
    assert!(fault(1, 1).is_some());
}

#[test]
#[should_panic(expected = "files in error")]
fn a_file_in_error_fails() {
    let errors = vec!["own.xml: the document is no feed".to_owned(); FILES_IN_ERROR_MAX + 1];
    Scored { outcomes: Vec::new(), errors }.hold(&[]);
}
