//! From a hub's request to the entry on an open page.

use std::time::Duration;

use domain::ports::Clock;
use engine::system::SystemClock;
use testkit::browser::Browser;

use super::{Server, WIDTH, percentile};
use crate::{
    push::{load::Connection, load_average},
    report::{Rating, Table, Tally},
};

const PUSHES: usize = 100;
/// Between two pushes: entries that come together are shown together.
const EVERY: Duration = Duration::from_millis(600);

/// A page takes what was received a minute before it was opened for new, too: what was just filled in is to be older.
const AFTER_FILLING: Duration = Duration::from_secs(61);

const MS_MAX: f64 = 1_000.0;
const MS_AIM: f64 = 100.0;
const NO_CONTENT: u16 = 204;

/// Asks for what is new as soon as it is offered, and notes when; and when the entry stands in the list.
const WATCH: &str = "
    const now = () => performance.timeOrigin + performance.now();
    window.offered = [];
    window.seen = {};
    const news = document.querySelector('#news');
    new MutationObserver(() => {
        if (news.hidden) return;
        window.offered.push(now());
        news.click();
    }).observe(news, { attributes: true, attributeFilter: ['hidden'] });
    new MutationObserver((changes) => {
        for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
            for (const link of node.querySelectorAll?.('.row > a') ?? []) window.seen[link.textContent] ??= now();
        }
    }).observe(document.querySelector('.rows'), { childList: true, subtree: true });";

/// What was measured: milliseconds from the request.
#[derive(Debug, Default)]
struct Latencies {
    stored: Vec<f64>,
    offered: Vec<f64>,
    seen: Vec<f64>,
}

pub(super) fn run(tally: &mut Tally, servers: [&Server; 2]) -> anyhow::Result<()> {
    let title = format!(
        "page: {PUSHES} signed pushes, one every {} ms, from the hub's request to an open page in chromium\n\
         offered: the page says that there is a new one; shown: it stands in the list, having been asked for at once\n\
         ratio: of the median to the aim of {MS_AIM:.0} ms; load average before: {}",
        EVERY.as_millis(),
        load_average(),
    );
    let mut table = Table::new(title, &["", "median ms", "99th ms", "limit", "ratio"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    for server in servers {
        let Latencies { stored, offered, seen } = runtime.block_on(measure(server))?;
        for (what, times, has_limit) in
            [("answered", &stored, false), ("offered", &offered, true), ("shown", &seen, true)]
        {
            let (median, last) = (percentile(times, 50), percentile(times, 99));
            let cells = [
                format!("{}, {what}", server.name),
                format!("{median:.0}"),
                format!("{last:.0}"),
                if has_limit { format!("{MS_MAX:.0}") } else { String::new() },
                format!("{:.2}", median / MS_AIM),
            ];
            table.row(&cells, if has_limit { Rating::of(last <= MS_MAX) } else { Rating::None }, "");
        }
    }
    table.print(tally);
    Ok(())
}

async fn measure(server: &Server) -> anyhow::Result<Latencies> {
    tokio::time::sleep(AFTER_FILLING).await;
    let browser = Browser::start(WIDTH).await;
    browser.open(&server.url("/unread")).await;
    browser.ready().await;
    browser.run(WATCH).await;
    let mut connection = Connection::open(server.address).await?;
    let mut latencies = Latencies::default();
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for number in 0..PUSHES {
        every.tick().await;
        let title = format!("Pushed {number}");
        let request = server.push(number, &title);
        let begun_ms = now_ms();
        let status = connection.send(&request).await?.status;
        latencies.stored.push(now_ms() - begun_ms);
        anyhow::ensure!(status == NO_CONTENT, "a push was answered with {status}");
        browser.holds(&format!("window.seen['{title}']")).await;
        let times = format!("return [window.offered.at(-1), window.seen['{title}']]");
        let times = browser.run(&times).await;
        latencies.offered.extend(times[0].as_f64().map(|at| at - begun_ms));
        latencies.seen.extend(times[1].as_f64().map(|at| at - begun_ms));
    }
    browser.close().await;
    Ok(latencies)
}

/// Milliseconds of the clock that the browser tells the time by, too.
#[expect(clippy::cast_precision_loss, reason = "microseconds of our days fit into 52 bits")]
fn now_ms() -> f64 {
    SystemClock.now().as_microsecond() as f64 / 1_000.0
}
