//! Texts that one database takes and the other does not, and such as are longer than an index takes.

use std::fmt::Write;

use domain::{File, NewFeed, feed_state::FeedAddress, ingest::IncomingEntry, ingest::SEARCH_TEXT_BYTES_MAX};

use super::{
    Harness,
    given::{entry, new_feed, version},
};

contract! {
    f3_no_text_holds_nul,
    f3_long_texts_are_kept_whole,
    f2_one_odd_entry_does_not_lose_the_others,
}

async fn f3_no_text_holds_nul(harness: &Harness) {
    let nul = |text: &str| format!("{text}\0{text}");
    let odd = IncomingEntry {
        guid: nul("g"),
        url: Some(nul("u")),
        title: Some(nul("t")),
        author: Some(nul("a")),
        summary: Some(nul("s")),
        content: Some(nul("c")),
        categories: vec![nul("k")],
        enclosures: vec![File { url: nul("e"), mime: Some(nul("m")), length: None, duration_secs: None }],
        search_text: nul("word"),
        ..entry("1")
    };
    let mut new = NewFeed { custom_title: Some(nul("x")), ..new_feed("http://e.org/1", vec![odd]) };
    new.address.credentials = Some(nul("p"));
    new.document.title = Some(nul("y"));
    new.document.validators.etag = Some(nul("z"));
    let feed = harness.add_feed(new).await;
    assert_eq!((feed.custom_title.as_deref(), feed.title.as_deref()), (Some("xx"), Some("yy")));
    let stored = harness.all().await.remove(0);
    assert_eq!(stored.guid, "gg");
    let texts = [stored.url, stored.title, stored.author, stored.summary, stored.content];
    assert_eq!(texts.map(Option::unwrap), ["uu", "tt", "aa", "ss", "cc"]);
    assert_eq!(stored.categories, ["kk"]);
    assert_eq!((stored.enclosures[0].url.as_str(), stored.enclosures[0].mime.as_deref()), ("ee", Some("mm")));
    let job = harness.claim(feed.id).await;
    assert_eq!(job.validators.etag.as_deref(), Some("zz"));
    assert_eq!(job.address.credentials.as_deref(), Some("pp"));
    let folder = harness.store.create_folder(&nul("f")).await.unwrap().unwrap();
    assert_eq!(folder.name, "ff");
}

async fn f3_long_texts_are_kept_whole(harness: &Harness) {
    // As chance would have it: what repeats itself is stored short.
    let mut state = 1_u64;
    let mut long = |bytes: usize| {
        let mut text = String::new();
        while text.len() < bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            write!(text, "{:x}", state >> 16).unwrap();
        }
        text
    };
    let url = format!("http://e.org/{}", long(4000));
    let id = harness
        .add_feed(NewFeed { address: FeedAddress { url: url.clone(), credentials: None }, ..new_feed("", vec![]) })
        .await
        .id;
    assert_eq!(harness.store.feed_by_url(&url).await.unwrap(), Some(id));
    let (guid, word) = (long(20_000), long(50_000));
    let content = long(3 * 1024 * 1024);
    let mut search_text = (0..).map(|_| format!("{} ", long(9))).take(30_000).collect::<String>();
    search_text.truncate(SEARCH_TEXT_BYTES_MAX - word.len() - 1);
    search_text.push(' ');
    search_text.push_str(&word);
    let odd = IncomingEntry {
        url: Some(long(10_000)),
        title: Some(long(10_000)),
        content: Some(content.clone()),
        search_text,
        ..entry(&guid)
    };
    harness.poll(id, vec![odd.clone(), entry("2")]).await;
    harness.poll(id, vec![IncomingEntry { fingerprint: domain::ingest::Hash::of(b"x"), ..odd }, entry("2")]).await;
    let stored = harness.entry(&guid).await;
    assert_eq!(stored.content.unwrap().len(), content.len());
    assert_eq!(harness.all().await.len(), 2);
}

async fn f2_one_odd_entry_does_not_lose_the_others(harness: &Harness) {
    let odd = [
        IncomingEntry::default(),
        version("\u{fffe}\u{1}", "\u{10ffff} \u{200b}\u{301}"),
        version("'; DROP TABLE entries; --", "'\"\\ %_*"),
        IncomingEntry { published_at: Some(jiff::Timestamp::MIN), ..entry("before") },
        IncomingEntry { published_at: Some(jiff::Timestamp::MAX), ..entry("after") },
        entry("last"),
    ];
    let id = harness.add("http://e.org/1", odd.to_vec()).await;
    assert_eq!(harness.all().await.len(), odd.len());
    assert_eq!(harness.poll(id, odd.to_vec()).await.new, 0);
}
