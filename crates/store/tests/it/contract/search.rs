//! F6: full-text search: all words, newest first, together with every other condition.

use domain::{Entry, EntryFilter, EntryPatch, FeedPatch, Search, entry::PHRASE_WALK_MAX, words::words_of};

use super::{
    Harness,
    given::{entry_at, titles, version},
    paging::walk,
};

contract! {
    f6_a_search_finds_entries_with_all_its_words,
    f6_a_search_finds_pictographs,
    f6_a_search_follows_changes,
    f6_a_search_is_narrowed_by_other_conditions,
    f6_a_search_is_paged_however_many_entries_match,
    f6_a_page_of_a_phrase_looks_at_so_many,
}

async fn f6_a_search_finds_entries_with_all_its_words(harness: &Harness) {
    let texts = [
        "Crème brûlée: the recipe",
        "A recipe for bread, by O'Neill-Smith (2024)",
        "Rust 1.91: what's new?",
        "東京 タワー और हिन्दी में",
        "ΟΔΟΣ is a street in Greece",
    ];
    harness.add("http://e.org/1", texts.iter().map(|text| version(text, text)).collect()).await;
    for (query, expect) in [
        ("recipe", &texts[..2]),
        ("RECIPE bread", &texts[1..2]),
        ("recipe rust", &[]),
        ("creme", &texts[..1]),
        ("Brûlée", &texts[..1]),
        // Accents as some keyboards send them: after their letters.
        ("bru\u{302}le\u{301}e", &texts[..1]),
        ("brule", &[]),
        ("o'neill", &texts[1..2]),
        ("smith 2024", &texts[1..2]),
        ("1.91", &texts[2..3]),
        ("\"what's\" AND (new*)", &[]),
        ("what's new", &texts[2..3]),
        ("タワー", &texts[3..4]),
        ("हिन्दी", &texts[3..4]),
        ("οδος", &texts[4..5]),
        ("Οδος Greece", &texts[4..5]),
    ] {
        let filter = EntryFilter { search: Search::parse(query).unwrap(), ..EntryFilter::default() };
        assert_eq!(titles(&harness.entries(filter).await), expect, "{query}");
    }
    // A search without a word finds nothing, rather than everything.
    assert_eq!(found(harness, "- \"").await, []);
}

async fn f6_a_search_finds_pictographs(harness: &Harness) {
    let texts = ["Rust🦀 is out 🎉🎉", "I ❤️ crabs: 🦀", "👍🏽 from 👩\u{200d}🚀", "🇩🇪 → 🇫🇷", "none"];
    harness.add("http://e.org/1", texts.iter().map(|text| version(text, text)).collect()).await;
    for (query, expect) in [
        ("🦀", &texts[..2]),
        ("🎉", &texts[..1]),
        ("🦀🎉", &texts[..1]),
        ("rust 🦀", &texts[..1]),
        ("rust", &texts[..1]),
        ("❤", &texts[1..2]),
        ("❤️", &texts[1..2]),
        ("👍", &texts[2..3]),
        ("👍🏿", &texts[2..3]),
        ("👩\u{200d}🚀", &texts[2..3]),
        ("🇫🇷", &texts[3..4]),
        ("→", &texts[3..4]),
        ("🦀 none", &[]),
        ("🐙", &[]),
    ] {
        assert_eq!(titles(&found(harness, query).await), expect, "{query}");
    }
}

async fn f6_a_search_follows_changes(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![version("1", "apple"), version("2", "apple")]).await;
    harness.poll(id, vec![version("1", "pear"), version("2", "apple"), version("3", "pear")]).await;
    assert_eq!(found(harness, "apple").await.len(), 1);
    assert_eq!(found(harness, "pear").await.len(), 2);
    harness.poll(id, vec![version("1", "apple"), version("2", "apple"), version("3", "plum")]).await;
    assert_eq!(found(harness, "apple").await.len(), 2);
    assert_eq!(found(harness, "pear").await.len(), 0);
}

async fn f6_a_search_is_narrowed_by_other_conditions(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let one = harness.add("http://e.org/1", vec![version("a", "word a"), version("b", "word b")]).await;
    let two = harness.add("http://e.org/2", vec![version("c", "word c"), version("d", "other d")]).await;
    let into = FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() };
    harness.store.update_feed(two, into).await.unwrap();
    let id = harness.entry("a").await.id;
    harness.store.patch_entry(id, EntryPatch { is_read: Some(true), is_starred: Some(true) }).await.unwrap();
    let word = EntryFilter { search: Search::parse("word").unwrap(), ..EntryFilter::default() };
    for (filter, expect) in [
        (EntryFilter { feed_id: Some(one), ..word.clone() }, vec!["word a", "word b"]),
        (EntryFilter { folder_id: Some(folder), ..word.clone() }, vec!["word c"]),
        (EntryFilter { unread: Some(true), ..word.clone() }, vec!["word b", "word c"]),
        (EntryFilter { starred: Some(true), ..word.clone() }, vec!["word a"]),
        (EntryFilter { starred: Some(true), unread: Some(true), ..word.clone() }, vec![]),
    ] {
        let entries = harness.entries(filter.clone()).await;
        let mut found = titles(&entries);
        found.sort_unstable();
        assert_eq!(found, expect, "{filter:?}");
    }
}

/// Enough entries that common words are searched in another way than rare ones, and one that is common only among the
/// oldest in yet another.
async fn f6_a_search_is_paged_however_many_entries_match(harness: &Harness) {
    const ENTRIES: i64 = 6000;
    let text = |number: i64| {
        let mut text = format!("entry {number} every");
        for (word, holds) in
            [("second", number % 2 == 0), ("hundredth", number % 100 == 7), ("old", number >= ENTRIES / 2)]
        {
            if holds {
                text.push(' ');
                text.push_str(word);
            }
        }
        text
    };
    let entries = |range: std::ops::Range<i64>| {
        let at = |number: i64| harness.after(-number / 5);
        range
            .map(|number| domain::ingest::IncomingEntry {
                search_text: text(number),
                ..entry_at(&number.to_string(), at(number))
            })
            .collect()
    };
    let one = harness.add("http://e.org/1", entries(0..ENTRIES / 2)).await;
    let two = harness.add("http://e.org/2", entries(ENTRIES / 2..ENTRIES)).await;
    // Somebody who has only half of what is there.
    let ann = harness.account("ann").await;
    ann.follow("http://e.org/2").await;
    let whole = walk(harness, &EntryFilter::default(), 500).await;
    assert_eq!(whole.len(), usize::try_from(ENTRIES).unwrap());
    for query in [
        "every",
        "second",
        "hundredth",
        "old",
        "second old",
        "every hundredth",
        "second hundredth",
        "none",
        "\"every second\"",
        "\"second old\"",
        "\"hundredth old\"",
        "\"every old\"",
        "\"old every\"",
        "sec*",
        "hundr*",
        "ol*",
        "no*",
        "second ol*",
        "\"every o*\"",
        "every -second",
        "every -\"second old\"",
        "hundredth -old",
        "old -hundr*",
        "-second",
        "-every",
        "-\"every second\"",
        "-\"every old\" -hundr*",
    ] {
        let search = Search::parse(query).unwrap().unwrap();
        let of_ann =
            |entry: &&Entry| entry.feed_id == two && search.finds(&words_of(&text(entry.guid.parse().unwrap())));
        let expect: Vec<_> = whole.iter().filter(of_ann).map(|entry| entry.id).collect();
        let filter = EntryFilter { search: Some(search.clone()), ..EntryFilter::default() };
        let found: Vec<_> = walk(&ann, &filter, 499).await.into_iter().map(|entry| entry.id).collect();
        assert_eq!(found, expect, "{query} of an account that has half");
        for feed_id in [None, Some(one)] {
            let holds = |entry: &&Entry| {
                search.finds(&words_of(&text(entry.guid.parse().unwrap())))
                    && feed_id.is_none_or(|id| entry.feed_id == id)
            };
            let expect: Vec<_> = whole.iter().filter(holds).map(|entry| entry.id).collect();
            let filter = EntryFilter { search: Some(search.clone()), feed_id, ..EntryFilter::default() };
            let found: Vec<_> = walk(harness, &filter, 499).await.into_iter().map(|entry| entry.id).collect();
            assert_eq!(found, expect, "{query} {feed_id:?}");
            if search.is_exclusion() {
                // It looks at so many entries, and may find fewer.
                continue;
            }
            let first: Vec<_> = harness.store.entries(&filter, 20, None).await.unwrap().entries;
            assert_eq!(
                first.iter().map(|entry| entry.id).collect::<Vec<_>>(),
                expect[..expect.len().min(20)],
                "{query}"
            );
        }
    }
}

/// The grams propose them all, and only the oldest holds the phrase.
async fn f6_a_page_of_a_phrase_looks_at_so_many(harness: &Harness) {
    let long_ago = entry_at("phrase", harness.after(-1_000_000));
    let phrase = domain::ingest::IncomingEntry { search_text: "fresh bread".to_owned(), ..long_ago };
    harness.add("http://e.org/1", vec![version("words", "fresh and bread"), phrase]).await;
    harness.copy_entry("words", PHRASE_WALK_MAX).await;
    let filter = EntryFilter { search: Search::parse("\"fresh bread\"").unwrap(), ..EntryFilter::default() };
    let first = harness.store.entries(&filter, 20, None).await.unwrap();
    assert_eq!(first.entries, []);
    assert!(first.next_cursor.is_some(), "it goes on");
    let second = harness.store.entries(&filter, 20, first.next_cursor).await.unwrap();
    assert_eq!((titles(&second.entries), second.next_cursor), (vec!["phrase"], None));
}

pub(super) async fn found(harness: &Harness, query: &str) -> Vec<Entry> {
    harness.entries(EntryFilter { search: Search::parse(query).unwrap(), ..EntryFilter::default() }).await
}
