//! What publishers send stays harmless.

use super::{between, both};

fn feed(title: &str, items: &str) -> String {
    format!("<rss version=\"2.0\"><channel><title><![CDATA[{title}]]></title>{items}</channel></rss>")
}

fn item(title: &str, text: &str) -> String {
    format!(
        "<item><guid>{}</guid><title><![CDATA[{title}]]></title><description><![CDATA[{text}]]></description></item>",
        text.len()
    )
}

#[tokio::test]
async fn u1b_hostile_entries_stay_in_their_box() {
    let text = "<p style=\"position:fixed\" onclick=\"alert(1)\" class=\"side\" id=\"status\">x</p></template></div></main>\
                <script>alert(2)</script><a href=\"javascript:alert(3)\">y</a><a href=\"https://e.org/\">z</a>\
                <iframe src=\"https://evil.example/\"></iframe><form action=\"/logout\"><button>w</button></form>";
    for reader in both().await {
        reader
            .follow(
                "/a",
                &feed("&lt;script&gt;alert(1)&lt;/script&gt;", &item("&lt;img src=x onerror=alert(1)&gt;", text)),
                None,
            )
            .await;
        let id = reader.listed("").await[0];
        let page = reader.page(&format!("/entry/{id}?in=/unread")).await;
        let shadow = between(&page, "<template shadowrootmode=\"open\">", "</template>");
        for never in [
            "<script",
            "onclick",
            "style=",
            "javascript:",
            "<iframe",
            "<form",
            "<button",
            "class=\"side",
            "id=\"status",
        ] {
            assert!(!shadow.contains(never), "{never}: {shadow}");
        }
        assert!(
            shadow.contains("<a target=\"_blank\" rel=\"noopener noreferrer\" href=\"https://e.org/\">z</a>"),
            "{shadow}"
        );
        // Scripts are ours, and none stands in the page.
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(page.contains("type=\"module\" src=\"/assets/page-"), "{page}");
        assert!(!page.contains("onerror=alert") || page.contains("&lt;img src=x onerror=alert(1)&gt;"), "{page}");
        assert!(!page.contains(" style=") && !page.contains("<style"), "{page}");
    }
}

#[tokio::test]
async fn u1b_pages_have_a_strict_policy() {
    for reader in both().await {
        for path in ["/unread", "/nothing"] {
            let page = reader.browse("GET", path, None).await;
            let policy = page.header("content-security-policy");
            for part in [
                "default-src 'none'",
                "script-src 'self';",
                "style-src 'self';",
                "connect-src 'self';",
                "form-action 'self'",
                "base-uri 'none'",
                "frame-ancestors 'none'",
                "require-trusted-types-for 'script'",
            ] {
                assert!(policy.contains(part), "{part}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(
                (page.header("referrer-policy"), page.header("x-content-type-options")),
                ("same-origin", "nosniff")
            );
        }
    }
}

#[tokio::test]
async fn u1_an_entry_that_holds_nothing_says_so() {
    let items = "<item><guid>a</guid><link>https://e.org/a</link></item>\
                 <item><guid>b</guid><link>https://e.org/b</link><description>Text.</description></item>";
    for reader in both().await {
        reader.follow("/a", &feed("Bare", items), None).await;
        for id in reader.listed("").await {
            let entry = reader.server.get(&format!("/api/entries/{id}")).await.ok(200);
            let page = reader.page(&format!("/entry/{id}")).await;
            // Beside a text it is for those who hear the page; alone it is all that there is.
            let class =
                if entry["content"].is_null() && entry["summary"].is_null() { "title" } else { "title untitled" };
            let heading = format!("<h1 class=\"{class}\" dir=\"auto\"><a href={}", entry["url"]);
            assert!(page.contains(&heading), "{heading}: {page}");
        }
    }
}

#[tokio::test]
async fn u1_long_and_missing_titles_keep_lists_whole() {
    let items = [
        item(&"t".repeat(10_000), "<p>a</p>"),
        item("", "<p>bb</p>"),
        item("نهر", &format!("<p>{}</p>", "x".repeat(1_000_000))),
    ];
    for reader in both().await {
        reader.follow("/a", &feed(&"n".repeat(5_000), &items.concat()), None).await;
        let page = reader.page("/unread").await;
        assert_eq!(super::ids(&page).len(), 3);
        // What has no title begins with its text, once.
        assert!(page.contains(">bb</a>") && !page.contains(">bb</p>"), "{}", &page[..3_000]);
        assert!(page.contains("dir=\"auto\">نهر</a>"), "{}", &page[..3_000]);
        assert!(page.len() < 40_000, "{} bytes", page.len());
        let untitled = reader.server.get("/api/entries?q=bb").await.ok(200)["entries"][0]["id"].to_string();
        let opened = reader.page(&format!("/entry/{untitled}")).await;
        assert!(opened.contains("<h1 class=\"title untitled\" dir=\"auto\">Untitled</h1>"), "{}", &opened[..3_000]);
        // Also where lists have titles alone.
        reader.browse("POST", "/preferences", Some("excerpts=off&back=/all")).await;
        assert!(reader.page("/all").await.contains(">bb</a>"));
    }
}
