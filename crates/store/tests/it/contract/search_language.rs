//! F6: phrases, prefixes, exclusions, scripts without spaces, folding: the same on both stores, because both find what
//! [`Search::finds`] says.

use std::collections::HashSet;

use domain::{EntryFilter, Search, entry::Order, ingest::IncomingEntry, words::words_of};

use super::{
    Harness,
    given::{entry_at, titles, version},
    paging::walk,
    search::found,
};

contract! {
    f6_phrases_prefixes_and_exclusions_are_found,
    f6_scripts_without_spaces_are_searched,
    f6_letters_are_found_however_they_are_written,
    f6_long_texts_are_searched_to_their_end,
    f6_a_search_that_only_excludes_looks_at_so_many_entries,
    f6_any_search_finds_what_it_says,
}

/// Of texts, those that each search finds.
async fn check(harness: &Harness, texts: &[&str], cases: &[(&str, &[usize])]) {
    harness.add("http://e.org/1", texts.iter().map(|text| version(text, text)).collect()).await;
    for (query, expect) in cases {
        let expect: HashSet<&str> = expect.iter().map(|at| texts[*at]).collect();
        let entries = found(harness, query).await;
        assert_eq!(titles(&entries).into_iter().collect::<HashSet<_>>(), expect, "{query}");
    }
}

async fn f6_phrases_prefixes_and_exclusions_are_found(harness: &Harness) {
    let texts = [
        "The fox jumps: fresh bread, every day",
        "Bread that is fresh",
        "fresh breadcrumbs; bread and fresh butter",
        "Conference on configuration",
        "conf",
        "Rust 1.91 and C++",
        "91.1 percent of O'Neill-Smith",
        "A title that ends: fresh\nBread is in its text",
    ];
    check(
        harness,
        &texts,
        &[
            ("\"fresh bread\"", &[0]),
            ("“fresh bread”", &[0]),
            ("\"fresh bread", &[0]),
            ("\"bread fresh\"", &[]),
            ("\"fresh bread*\"", &[0, 2]),
            ("\"fresh b*\"", &[0, 2]),
            ("\"that is fresh\"", &[1]),
            ("\"Bread\"", &[0, 1, 2, 7]),
            ("\"fresh bread\" fox", &[0]),
            ("\"fresh bread\" butter", &[]),
            ("conf*", &[3, 4]),
            ("CONF* -configuration", &[4]),
            ("conference*", &[3]),
            ("nothing*", &[]),
            ("fresh bread -jumps", &[1, 2, 7]),
            ("fresh -\"fresh bread\"", &[1, 2, 7]),
            ("fresh -br*", &[]),
            ("bread -bread", &[]),
            ("-fresh", &[3, 4, 5, 6]),
            ("-fresh -con*", &[5, 6]),
            ("-\"fresh bread\" -conf -\"91 1\"", &[1, 2, 3, 5, 7]),
            ("1.91", &[5]),
            ("91.1", &[6]),
            ("o'neill-smith", &[6]),
            ("smith-o'neill", &[]),
            ("c++", &[5]),
            ("fresh, (bread) [fox]", &[0]),
            ("jumps OR conf", &[]),
            ("\"%\" fresh_bread \\", &[0]),
            ("- \" *", &[]),
        ],
    )
    .await;
}

async fn f6_scripts_without_spaces_are_searched(harness: &Harness) {
    let texts = [
        "東京タワーへ行きました。",
        "京都の塔、東の都",
        "iPhone15の新機能を発表",
        "서울의 날씨가 좋다",
        "좋은 서울 사람들",
        "ภาษาไทยง่ายนิดเดียว",
        "ພາສາລາວ ខ្មែរភាសា မြန်မာဘာသာ",
        "北京烤鸭很好吃",
        "ｱｲｳｴｵ ﾊﾟﾝ",
    ];
    check(
        harness,
        &texts,
        &[
            ("東京", &[0]),
            ("東京タワー", &[0]),
            ("京タワ", &[0]),
            ("東京ワー", &[]),
            ("東", &[0, 1]),
            ("京", &[0, 1, 7]),
            ("都", &[1]),
            ("塔", &[1]),
            ("東 塔", &[1]),
            ("東京 -タワー", &[]),
            ("京 -東京 -北", &[1]),
            ("京*", &[0, 1, 7]),
            ("ー", &[0]),
            ("新機能", &[2]),
            ("iphone15の新", &[2]),
            ("iphone*", &[2]),
            ("\"iphone15 の\"", &[2]),
            ("サ", &[]),
            ("서울", &[3, 4]),
            ("서울의", &[3]),
            ("\"서울 사람\"", &[4]),
            ("\"서울 날씨\"", &[]),
            ("날씨 서울", &[3]),
            ("좋", &[3, 4]),
            ("ไทย", &[5]),
            ("ภาษาไทย", &[5]),
            ("ง่าย", &[5]),
            ("ลาว", &[]),
            ("ລາວ", &[6]),
            ("ភាសា", &[6]),
            ("ဘာသာ", &[6]),
            ("烤鸭", &[7]),
            ("鸭烤", &[]),
            ("アイウ", &[8]),
            ("パン", &[8]),
            ("ハン", &[]),
        ],
    )
    .await;
}

async fn f6_letters_are_found_however_they_are_written(harness: &Harness) {
    let texts = [
        "Η Ελλάδα είναι ωραία",
        "Ещё зелёный чай и йод",
        "שָׁלוֹם עֲלֵיכֶם",
        "قَالَ أَحْمَدُ: مدرسة",
        "ＦＵＬＬ　Ｗｉｄｔｈ",
        "Straße nach Łódź, Donau\u{ad}dampf",
        "हिन्दी में",
    ];
    check(
        harness,
        &texts,
        &[
            ("ελλαδα", &[0]),
            ("ΕΛΛΑΔΑ ΩΡΑΙΑ", &[0]),
            ("\"ειναι ωραια\"", &[0]),
            ("еще", &[1]),
            ("зелёный", &[1]),
            ("ЗЕЛЕНЫЙ", &[1]),
            ("йод", &[1]),
            ("иод", &[]),
            ("שלום", &[2]),
            ("עליכם", &[2]),
            ("احمد", &[3]),
            ("مدرسه", &[3]),
            ("full width", &[4]),
            ("ｆｕｌｌ", &[4]),
            ("strasse", &[5]),
            ("STRASSE lodz", &[5]),
            ("donaudampf", &[5]),
            ("donau*", &[5]),
            ("हिन्दी", &[6]),
            ("हिन", &[]),
        ],
    )
    .await;
}

/// Longer than what positions of words can be in a database, and with more of the same word.
async fn f6_long_texts_are_searched_to_their_end(harness: &Harness) {
    let long = |text: &str| format!("{} {text}", "fresh milk and ".repeat(10_000));
    let run = format!("{}東京湾", "東京".repeat(20_000));
    let texts = [long("fresh bread"), long("bread fresh"), run];
    let entry = |text: &String| IncomingEntry { search_text: text.clone(), ..version(&text[text.len() - 12..], "x") };
    harness.add("http://e.org/1", texts.iter().map(entry).collect()).await;
    for (query, expect) in [
        ("\"fresh bread\"", vec!["fresh bread"]),
        ("\"and bread fresh\"", vec![" bread fresh"]),
        ("bread -\"bread fresh\"", vec!["fresh bread"]),
        ("京湾", vec!["東京湾"]),
        ("京東京湾", vec!["東京湾"]),
        ("東湾", vec![]),
    ] {
        let guids: Vec<String> = found(harness, query).await.into_iter().map(|entry| entry.guid).collect();
        assert_eq!(guids.len(), expect.len(), "{query}: {guids:?}");
        assert!(guids.iter().zip(&expect).all(|(guid, end)| guid.ends_with(end)), "{query}: {guids:?}");
    }
}

async fn f6_a_search_that_only_excludes_looks_at_so_many_entries(harness: &Harness) {
    let at = |number: i64| harness.after(-number);
    let entry = |number: i64| IncomingEntry {
        search_text: if number == 5_100 { "last" } else { "every" }.to_owned(),
        ..entry_at(&number.to_string(), at(number))
    };
    harness.add("http://e.org/1", (0..=5_100).map(entry).collect()).await;
    let filter = EntryFilter { search: Search::parse("-every").unwrap(), ..EntryFilter::default() };
    let page = harness.store.entries(&filter, 50, None).await.unwrap();
    assert_eq!(page.entries, []);
    let page = harness.store.entries(&filter, 50, page.next_cursor).await.unwrap();
    assert_eq!(page.entries.iter().map(|entry| entry.guid.as_str()).collect::<Vec<_>>(), ["5100"]);
    assert_eq!(page.next_cursor, None);
    let filter = EntryFilter { order: Order::Oldest, ..filter };
    let page = harness.store.entries(&filter, 50, None).await.unwrap();
    assert_eq!(page.entries.iter().map(|entry| entry.guid.as_str()).collect::<Vec<_>>(), ["5100"]);
    assert!(page.next_cursor.is_some());
}

/// What texts and searches are put together from: scripts of every kind, signs, and what folds.
const PIECES: [&str; 60] = [
    "bread",
    "Bread",
    "breads",
    "fresh",
    "br",
    "a",
    "b",
    "ab",
    "1",
    "91",
    "２",
    "é",
    "e\u{301}",
    "ñ",
    "ß",
    "ss",
    "ﬁ",
    "fi",
    "ά",
    "α",
    "ς",
    "й",
    "и",
    "ё",
    "е",
    "ش",
    "ى",
    "ي",
    "שׁ",
    "ש",
    "東",
    "京",
    "タ",
    "ワ",
    "ー",
    "が",
    "か",
    "ｶﾞ",
    "서",
    "울",
    "의",
    "ก",
    "า",
    "ำ",
    "้",
    "ကြ",
    "ខ្",
    "क्ष",
    "न",
    "\u{200d}",
    "\u{ad}",
    "🦀",
    "🎉",
    "👍🏽",
    "'",
    "-",
    ".",
    "%",
    "_",
    "\0",
];

/// Numbers as if by chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn pieces(&mut self, most: usize) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(most) {
            text.push_str(PIECES[self.below(PIECES.len())]);
            text.push_str(["", "", " ", " ", ", "][self.below(5)]);
        }
        text
    }

    /// One to three terms: pieces, or a part of a text, with signs around them.
    fn query(&mut self, texts: &[String]) -> String {
        let mut query = String::new();
        for _ in 0..=self.below(3) {
            let term = if self.below(3) == 0 {
                self.pieces(3)
            } else {
                let text: Vec<char> = texts[self.below(texts.len())].chars().collect();
                let start = self.below(text.len());
                let end = start + 1 + self.below(8);
                text[start..end.min(text.len())].iter().collect()
            };
            query.push_str(["", "", "", "-"][self.below(4)]);
            let signed = match self.below(4) {
                0 => format!("\"{term}\""),
                1 => format!("{}*", term.trim_end()),
                _ => term,
            };
            query.push_str(&signed);
            query.push(' ');
        }
        query
    }
}

/// Enough entries that every way of searching is taken, on both stores.
async fn f6_any_search_finds_what_it_says(harness: &Harness) {
    let mut chance = Chance(20_261_117);
    let texts: Vec<String> = (0..1_300).map(|_| chance.pieces(10)).collect();
    let entry = |(number, text): (i64, &String)| IncomingEntry {
        search_text: text.clone(),
        ..entry_at(&number.to_string(), harness.after(-number / 3))
    };
    harness.add("http://e.org/1", (0..).zip(&texts).map(entry).collect()).await;
    let whole = walk(harness, &EntryFilter { without_texts: true, ..EntryFilter::default() }, 500).await;
    assert_eq!(whole.len(), texts.len());
    let words: Vec<String> = texts.iter().map(|text| words_of(text)).collect();
    let (mut searched, mut with_hits) = (0, 0);
    for _ in 0..400 {
        let query = chance.query(&texts);
        let Ok(Some(search)) = Search::parse(&query) else { continue };
        let is_found = |guid: &str| search.finds(&words[guid.parse::<usize>().unwrap()]);
        let expect: Vec<_> = whole.iter().filter(|entry| is_found(&entry.guid)).map(|entry| entry.id).collect();
        let filter = EntryFilter { search: Some(search.clone()), without_texts: true, ..EntryFilter::default() };
        let limit = if expect.len() > 60 { 500 } else { 20 };
        let ids: Vec<_> = walk(harness, &filter, limit).await.into_iter().map(|entry| entry.id).collect();
        assert_eq!(ids, expect, "{query:?} {search:?}");
        searched += 1;
        with_hits += usize::from(!expect.is_empty());
    }
    assert!(searched > 300 && with_hits > 100, "the searches try too little: {searched}, {with_hits} found something");
}
