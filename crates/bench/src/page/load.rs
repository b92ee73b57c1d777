//! The first load of the reader, its rows, and its keys; at a million entries, beside a store of fifty.

use serde_json::{Value, json};
use testkit::browser::{Browser, Key};

use super::{Server, WIDTH, percentile};
use crate::report::{Rating, Table, Tally};

const REQUESTS_MAX: f64 = 6.0;
const SCRIPT_BYTES_MAX: f64 = 20_000.0;
const STYLE_BYTES_MAX: f64 = 12_000.0;
const NODES_MAX: f64 = 5_000.0;
/// Aims of our own: what feels immediate.
const FIRST_ENTRY_MS_MAX: f64 = 1_000.0;
const KEY_MS_MAX: f64 = 100.0;

/// Rows that are scrolled through.
const ROWS: usize = 1_000;
/// Loads, and keys of each kind.
const LOADS: usize = 9;
const KEYS: usize = 30;

/// Notes when the first entry was shown, and how long each key took until the frame after it.
const WATCH: &str = "
    window.measured = { keys: [], opened: [] };
    const afterFrame = (then) => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = then;
        channel.port2.postMessage(0);
    });
    new MutationObserver((_, observer) => {
        if (!document.querySelector('.row')) return;
        observer.disconnect();
        afterFrame(() => (window.measured.firstEntry = performance.now()));
    }).observe(document, { childList: true, subtree: true });
    let pressed = 0;
    addEventListener('keydown', (event) => {
        pressed = event.timeStamp;
        afterFrame(() => window.measured.keys.push(performance.now() - event.timeStamp));
    }, true);
    addEventListener('DOMContentLoaded', () => {
        new MutationObserver(() => afterFrame(() => window.measured.opened.push(performance.now() - pressed)))
            .observe(document.querySelector('.reading'), { childList: true });
    });";

/// Bytes of what was loaded, as they were sent.
const BYTES: &str = "
    const of = (pattern) => performance.getEntriesByType('resource').filter(({ name }) => pattern.test(name))
        .reduce((bytes, { encodedBodySize }) => bytes + encodedBodySize, 0);
    return [of(/\\.js$/), of(/\\.css$/), performance.getEntriesByType('navigation')[0].encodedBodySize];";

#[derive(Debug, Default)]
struct Loaded {
    requests: Vec<String>,
    script_bytes: f64,
    style_bytes: f64,
    page_bytes: f64,
    first_entry_ms: f64,
    key_ms: f64,
    key_99th_ms: f64,
    open_ms: f64,
    nodes: f64,
}

pub(super) fn run(tally: &mut Tally, large: &Server, small: &Server) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let large = runtime.block_on(measure(large, true));
    let small = runtime.block_on(measure(small, false));
    print(tally, &large, &small);
    Ok(())
}

async fn measure(server: &Server, has_many: bool) -> Loaded {
    let browser = Browser::start_noting_requests(WIDTH).await;
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH })).await;
    let mut loaded = Loaded::default();
    first_load(server, &browser, &mut loaded).await;
    loaded.first_entry_ms = first_entry_ms(server, &browser).await;
    keys(server, &browser, &mut loaded).await;
    if has_many {
        loaded.nodes = nodes(server, &browser).await;
    }
    browser.close().await;
    loaded
}

/// With nothing in the browser's cache.
async fn first_load(server: &Server, browser: &Browser, loaded: &mut Loaded) {
    open(server, browser).await;
    loaded.requests = browser.requests().await.into_iter().filter(|url| url.starts_with(&server.url("/"))).collect();
    let bytes = browser.run(BYTES).await;
    let at = |index: usize| bytes[index].as_f64().unwrap_or(f64::NAN);
    (loaded.script_bytes, loaded.style_bytes, loaded.page_bytes) = (at(0), at(1), at(2));
}

async fn open(server: &Server, browser: &Browser) {
    browser.open(&server.url("/unread")).await;
    browser.ready().await;
    browser.holds("window.measured.firstEntry").await;
}

/// The median of several loads, by a browser that has been here before.
async fn first_entry_ms(server: &Server, browser: &Browser) -> f64 {
    let mut times = Vec::new();
    for _ in 0..LOADS {
        open(server, browser).await;
        times.extend(browser.run("return window.measured.firstEntry").await.as_f64());
    }
    percentile(&times, 50)
}

/// From row to row, and from entry to entry.
async fn keys(server: &Server, browser: &Browser, loaded: &mut Loaded) {
    open(server, browser).await;
    for pressed in 1..=KEYS {
        browser.press("j").await;
        browser.holds(&format!("window.measured.keys.length === {pressed}")).await;
    }
    let times = numbers(&browser.run("return window.measured.keys").await);
    (loaded.key_ms, loaded.key_99th_ms) = (percentile(&times, 50), percentile(&times, 99));
    browser.press_key(Key::Enter).await;
    browser.find("article").await;
    browser.run("window.measured.opened = []").await;
    // Back again: the store of fifty has no more.
    for opened in 1..=KEYS / 2 {
        browser.press("k").await;
        browser.holds(&format!("window.measured.opened.length >= {opened}")).await;
    }
    loaded.open_ms = percentile(&numbers(&browser.run("return window.measured.opened").await), 50);
}

/// The most elements that the page ever has on the way through a thousand rows.
async fn nodes(server: &Server, browser: &Browser) -> f64 {
    open(server, browser).await;
    browser.run("window.passed = new Set()").await;
    let scroll = "
        const list = document.querySelector('.list .scroll');
        for (const row of document.querySelectorAll('.row')) window.passed.add(row.id);
        list.scrollTop = list.scrollHeight;
        return [document.querySelectorAll('*').length, window.passed.size];";
    let most = std::cell::Cell::new(0.0_f64);
    let look = async || {
        let seen = browser.run(scroll).await;
        most.set(most.get().max(seen[0].as_f64().unwrap_or(f64::NAN)));
        (seen[1].as_u64() >= Some(ROWS as u64)).then_some(())
    };
    browser.wait("a thousand rows", look).await;
    most.get()
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn print(tally: &mut Tally, large: &Loaded, small: &Loaded) {
    let title = format!(
        "page: the reader in chromium on SQLite, 1,000 feeds and 1,000,000 entries, beside 1 and 50\n\
         ratio: to the limit; load average before: {}\n\
         requests: {}",
        crate::push::load_average(),
        large.requests.iter().filter_map(|url| url.splitn(4, '/').nth(3)).collect::<Vec<_>>().join(", "),
    );
    let mut table = Table::new(title, &["", "large", "small", "limit", "ratio"]);
    let mut row = |name: &str, large: f64, small: f64, unit: &str, limit: Option<f64>, remark: &str| {
        let show = |value: f64| if value > 0.0 { format!("{value:.0}{unit}") } else { String::new() };
        let ratio = limit.map(|limit| format!("{:.2}", large / limit)).unwrap_or_default();
        let cells = [name.to_owned(), show(large), show(small), limit.map(show).unwrap_or_default(), ratio];
        table.row(&cells, limit.map_or(Rating::None, |limit| Rating::of(large <= limit)), remark);
    };
    let count = |loaded: &Loaded| f64::from(u32::try_from(loaded.requests.len()).unwrap_or(u32::MAX));
    row("requests of the first load", count(large), count(small), "", Some(REQUESTS_MAX), "the event stream included");
    row("scripts, compressed", large.script_bytes, small.script_bytes, " B", Some(SCRIPT_BYTES_MAX), "");
    row("styles, compressed", large.style_bytes, small.style_bytes, " B", Some(STYLE_BYTES_MAX), "");
    row("the page itself", large.page_bytes, small.page_bytes, " B", None, "with all feeds beside it");
    row("elements, through 1,000 rows", large.nodes, small.nodes, "", Some(NODES_MAX), "with all feeds beside them");
    row(
        "time to first entry, median",
        large.first_entry_ms,
        small.first_entry_ms,
        " ms",
        Some(FIRST_ENTRY_MS_MAX),
        "our aim",
    );
    row("key to frame, median", large.key_ms, small.key_ms, " ms", Some(KEY_MS_MAX), "j, from row to row; our aim");
    row("key to frame, 99th", large.key_99th_ms, small.key_99th_ms, " ms", None, "");
    row(
        "key to the next entry, median",
        large.open_ms,
        small.open_ms,
        " ms",
        Some(KEY_MS_MAX),
        "k, an entry is open; our aim",
    );
    table.print(tally);
}
