//! Logins under attack: ten thousand guesses from a hundred addresses at once. How many were tried for real, what that cost,
//! and whether those who know their password come in meanwhile; and that names which exist cannot be told by time.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use domain::account::{AccountName, AccountPatch, NewAccount, READER};
use engine::SystemIds;
use futures_util::future::try_join_all;
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use web::{AppState, WebSettings};

use crate::{
    cpu::Samples,
    fixture::{Fixture, StoreLocation, family_cpu_secs},
    process::ServerProcess,
    push::load::Connection,
    report::{Rating, Table, Tally},
};

const ADDRESSES: usize = 100;
const GUESSES_EACH: usize = 100;

const PASSWORD: &str = "correct horse";
/// Whose password is guessed, and somebody else.
const ATTACKED: &str = "reader";
const OTHER: &str = "ben";

/// At one account: five free guesses from each address, fewer once the account makes them wait.
const TRIED_AT_ONE_MAX: usize = ADDRESSES * 6;
/// At as many accounts as there are guesses: twenty free ones from each address, and some after waits.
const TRIED_AT_MANY_MAX: usize = ADDRESSES * 25;
/// Of a guess that is tried, everything included.
const CPU_MS_EACH_MAX: f64 = 100.0;
const LOGIN_MS_MAX: f64 = 2000.0;

/// Time between two logins of those who know.
const LOGIN_PAUSE: Duration = Duration::from_millis(100);

/// Guesses of each kind of name, by turns.
const TIMED: usize = 41;
const TIME_RATIO_MAX: f64 = 1.1;

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let title = format!(
        "logins: {} guesses from {ADDRESSES} addresses at once, while others log in with their passwords\n\
         tried: those whose password was hashed; CPU: of the server",
        ADDRESSES * GUESSES_EACH
    );
    let head =
        ["guesses", "tried", "limit", "429", "503", "s", "CPU s", "logins", "median ms", "longest ms", "refused"];
    let mut table = Table::new(title, &head);
    for (name, is_one, limit) in
        [("at one account", true, TRIED_AT_ONE_MAX), ("at a name each", false, TRIED_AT_MANY_MAX)]
    {
        let figures = runtime.block_on(attacked(is_one))?;
        let cells = [
            name.to_owned(),
            figures.tried.to_string(),
            limit.to_string(),
            figures.slowed.to_string(),
            figures.busy.to_string(),
            format!("{:.1}", figures.secs),
            format!("{:.1}", figures.cpu_secs),
            figures.logins.to_string(),
            format!("{:.0}", figures.login_median_ms),
            format!("{:.0}", figures.login_longest_ms),
            figures.logins_refused.to_string(),
        ];
        table.row(&cells, Rating::of(figures.is_kept(limit)), "");
    }
    table.print(tally);
    let (known, unknown) = runtime.block_on(times())?;
    let ratio = known.max(unknown) / known.min(unknown);
    let title = format!("logins: a wrong password, {TIMED} times each by turns, medians");
    let mut table = Table::new(title, &["a name that exists, ms", "one that does not, ms", "ratio", "limit"]);
    let cells = [format!("{known:.2}"), format!("{unknown:.2}"), format!("{ratio:.3}"), format!("{TIME_RATIO_MAX}")];
    table.row(&cells, Rating::of(ratio <= TIME_RATIO_MAX), "");
    table.print(tally);
    Ok(())
}

struct Figures {
    tried: usize,
    slowed: usize,
    busy: usize,
    secs: f64,
    cpu_secs: f64,
    logins: usize,
    login_median_ms: f64,
    login_longest_ms: f64,
    logins_refused: usize,
}

impl Figures {
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    fn is_kept(&self, tried_max: usize) -> bool {
        let hashed = (self.tried + self.logins) as f64;
        // Those that are refused cost something as well.
        let cpu_secs_max = (hashed * CPU_MS_EACH_MAX + (ADDRESSES * GUESSES_EACH) as f64) / 1e3;
        self.tried <= tried_max
            && self.cpu_secs <= cpu_secs_max
            && self.logins_refused == 0
            && self.login_median_ms <= LOGIN_MS_MAX
    }
}

async fn attacked(is_one: bool) -> anyhow::Result<Figures> {
    let (server, address, _folder) = start()?;
    let (over, is_over) = watch::channel(false);
    let meanwhile = tokio::spawn(log_in_meanwhile(address, is_over));
    let (begun, cpu_secs) = (Instant::now(), family_cpu_secs(server.id()));
    let statuses = try_join_all((0..ADDRESSES).map(|from| guess_all(address, from, is_one))).await?.concat();
    let (secs, cpu_secs) = (begun.elapsed().as_secs_f64(), family_cpu_secs(server.id()) - cpu_secs);
    over.send_replace(true);
    let logins = meanwhile.await??;
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    let mut samples = Samples::default();
    for (_, ms) in &logins {
        samples.add(*ms);
    }
    anyhow::ensure!(count(401) + count(429) + count(503) == statuses.len(), "other answers");
    Ok(Figures {
        tried: count(401),
        slowed: count(429),
        busy: count(503),
        secs,
        cpu_secs,
        logins: logins.len(),
        login_median_ms: samples.median(),
        login_longest_ms: logins.iter().map(|(_, ms)| *ms).fold(0.0, f64::max),
        logins_refused: logins.iter().filter(|(status, _)| *status != 200).count(),
    })
}

/// All guesses of one address, one after the other.
async fn guess_all(server: SocketAddr, from: usize, is_one: bool) -> anyhow::Result<Vec<u16>> {
    let mut connection = Connection::open(server).await?;
    let mut statuses = Vec::with_capacity(GUESSES_EACH);
    for number in 0..GUESSES_EACH {
        let name = if is_one { ATTACKED.to_owned() } else { format!("name {from} {number}") };
        let guess = login(server, &format!("198.51.100.{from}"), &name, &format!("guess number {number}"));
        statuses.push(connection.send(&guess).await?.status);
    }
    Ok(statuses)
}

/// Those who know their passwords log in from elsewhere, by turns. The status and the time of each.
async fn log_in_meanwhile(server: SocketAddr, is_over: watch::Receiver<bool>) -> anyhow::Result<Vec<(u16, f64)>> {
    let mut connection = Connection::open(server).await?;
    let mut logins = Vec::new();
    for name in [ATTACKED, OTHER].into_iter().cycle() {
        if *is_over.borrow() {
            break;
        }
        let begun = Instant::now();
        let status = connection.send(&login(server, "203.0.113.7", name, PASSWORD)).await?.status;
        logins.push((status, begun.elapsed().as_secs_f64() * 1e3));
        sleep(LOGIN_PAUSE).await;
    }
    Ok(logins)
}

/// How long a wrong password takes for a name that exists, and for one that does not.
async fn times() -> anyhow::Result<(f64, f64)> {
    let (_server, address, _folder) = start()?;
    let mut connection = Connection::open(address).await?;
    let (mut known, mut unknown) = (Samples::default(), Samples::default());
    for number in 0..TIMED {
        let mut names = [(ATTACKED, &mut known), ("nobody", &mut unknown)];
        // Neither always follows the other.
        if number % 2 == 1 {
            names.reverse();
        }
        for (name, samples) in names {
            let guess = login(address, &format!("198.51.100.{number}"), name, "wrong horse");
            let begun = Instant::now();
            let status = connection.send(&guess).await?.status;
            samples.add(begun.elapsed().as_secs_f64() * 1e3);
            anyhow::ensure!(status == 401, "{status}");
        }
    }
    Ok((known.median(), unknown.median()))
}

/// A login as a proxy hands it on.
fn login(server: SocketAddr, from: &str, name: &str, password: &str) -> Vec<u8> {
    let body = serde_json::json!({ "name": name, "password": password }).to_string();
    format!(
        "POST /api/session HTTP/1.1\r\nHost: {server}\r\nX-Forwarded-For: {from}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn start() -> anyhow::Result<(ServerProcess, SocketAddr, tempfile::TempDir)> {
    let folder = tempfile::tempdir()?;
    let location = StoreLocation::Sqlite { folder: folder.path().join("logins") };
    let server = ServerProcess::start(&["logins-server", &serde_json::to_string(&location)?])?;
    let address = server.ready_line.parse()?;
    Ok((server, address, folder))
}

/// The other side: serves until it is killed, behind a proxy.
pub(crate) fn serve(location: &StoreLocation) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let fixture = Arc::new(Fixture::open(location).await?);
        let password_hash = Some(web::hash_password(PASSWORD, &SystemIds)?);
        let patch = AccountPatch { password_hash: password_hash.clone(), ..AccountPatch::default() };
        fixture.store.update_account(READER, patch).await?;
        let other = NewAccount { name: AccountName::parse(OTHER)?, password_hash, is_admin: false };
        fixture.store.create_account(other).await?.ok().context("there is such an account")?;
        let settings = WebSettings { trusted_proxies: vec!["127.0.0.0/8".parse()?], ..WebSettings::default() };
        let state = AppState::new(fixture.engine()?, web::install_metrics()?, settings, &SystemIds, "0");
        println!("{}", listener.local_addr()?);
        web::serve(listener, web::router(state), CancellationToken::new()).await?;
        Ok(())
    })
}
