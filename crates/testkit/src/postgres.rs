//! A PostgreSQL database of its own for each test, whose clock the test sets.
//!
//! The cluster is the one that `PIRSSONITE_TEST_DATABASE_URL` names. The schema is made once, in a template that is named
//! after the migrations, however many test processes run; a test's database is a copy of it, dropped with its handle.

use std::{
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use domain::ingest::Hash;
use jiff::Timestamp;
use store::{PostgresOptions, PostgresStore};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

/// Connections of a test's store: few, because many tests run at once.
const POOL_SIZE: usize = 4;

/// The lock of whoever makes the template.
const TEMPLATE_LOCK: i64 = 0x7069_5253_5374_6b74;

static TEMPLATE: OnceCell<String> = OnceCell::const_new();
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A database of a test's own. It goes when this goes.
#[derive(Debug)]
pub struct FreshPostgres {
    /// The store on it.
    pub store: PostgresStore,
    url: String,
    name: String,
}

/// A test's database that nobody uses. It goes when this goes.
#[derive(Debug)]
pub struct LonePostgres {
    url: String,
    name: String,
}

/// A fresh database with the schema, and a store on it.
///
/// # Panics
///
/// If there is no PostgreSQL: a test that needs one fails without it, and is never skipped in silence.
pub async fn fresh_postgres() -> FreshPostgres {
    let template = TEMPLATE.get_or_init(make_template).await;
    let name = format!("pirssonite_test_{}_{}", std::process::id(), DATABASES.fetch_add(1, Ordering::Relaxed));
    let admin = connect(&admin_url()).await;
    // A process of the same number may have left one behind.
    run(&admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    run(&admin, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
    let url = url_of(&name);
    FreshPostgres { store: open(&url).await, url, name }
}

/// A database without any schema, for tests of the migrations. Drop it by [`drop_database`].
///
/// # Panics
///
/// As [`fresh_postgres`].
pub async fn empty_database() -> String {
    let name = format!("pirssonite_empty_{}_{}", std::process::id(), DATABASES.fetch_add(1, Ordering::Relaxed));
    let admin = connect(&admin_url()).await;
    run(&admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    run(&admin, &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")).await;
    name
}

/// Drops a database, whoever uses it.
///
/// # Panics
///
/// As [`fresh_postgres`].
pub async fn drop_database(name: &str) {
    run(&connect(&admin_url()).await, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
}

/// The URL of a database of the test cluster.
pub fn url_of(database: &str) -> String {
    let url = admin_url();
    let (base, query) = url.split_once('?').map_or((url.as_str(), None), |(base, query)| (base, Some(query)));
    let start = base.find("://").map_or(0, |scheme| scheme + 3);
    let host = base[start..].find('/').map_or(base, |slash| &base[..start + slash]);
    query.map_or_else(|| format!("{host}/{database}"), |query| format!("{host}/{database}?{query}"))
}

impl FreshPostgres {
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Another store on the same database, as another node has it.
    pub async fn another_store(&self) -> PostgresStore {
        open(&self.url).await
    }

    /// A connection for statements of the test's own.
    pub async fn client(&self) -> Client {
        connect(&self.url).await
    }

    /// Stops the database's clock at this instant.
    pub async fn set_now(&self, now: Timestamp) {
        let sql = format!(
            "CREATE OR REPLACE FUNCTION pirssonite_now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT {}::bigint'",
            now.as_millisecond()
        );
        run(&self.client().await, &sql).await;
    }
}

impl FreshPostgres {
    /// The database without the store on it, for whoever must be alone there.
    pub fn leave(mut self) -> LonePostgres {
        let lone = LonePostgres { url: std::mem::take(&mut self.url), name: std::mem::take(&mut self.name) };
        // Without a name it drops nothing.
        drop(self);
        lone
    }
}

impl LonePostgres {
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A connection for statements of the test's own.
    pub async fn client(&self) -> Client {
        connect(&self.url).await
    }
}

impl Drop for LonePostgres {
    fn drop(&mut self) {
        drop_on_thread(std::mem::take(&mut self.name));
    }
}

impl Drop for FreshPostgres {
    fn drop(&mut self) {
        drop_on_thread(std::mem::take(&mut self.name));
    }
}

/// Best effort, and on a thread of its own: the test's runtime may be at its end.
fn drop_on_thread(name: String) {
    if !name.is_empty() {
        let dropped = std::thread::spawn(move || {
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
                runtime.block_on(drop_database(&name));
            }
        });
        drop(dropped.join());
    }
}

/// Makes the template unless there is one. Half-made ones have another name.
async fn make_template() -> String {
    let template = format!("pirssonite_template_{}", migrations_hash());
    let admin = connect(&admin_url()).await;
    run(&admin, &format!("SELECT pg_advisory_lock({TEMPLATE_LOCK})")).await;
    let known = admin.query("SELECT FROM pg_database WHERE datname = $1", &[&template]).await;
    if known.expect("the list of databases can be read").is_empty() {
        let making = format!("{template}_making");
        run(&admin, &format!("DROP DATABASE IF EXISTS {making} WITH (FORCE)")).await;
        run(&admin, &format!("CREATE DATABASE {making} TEMPLATE template0 ENCODING 'UTF8'")).await;
        drop(open(&url_of(&making)).await);
        run(&admin, &format!("ALTER DATABASE {making} RENAME TO {template}")).await;
    }
    run(&admin, &format!("SELECT pg_advisory_unlock({TEMPLATE_LOCK})")).await;
    template
}

fn migrations_hash() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations/postgres");
    let files = std::fs::read_dir(folder).expect("the migrations are in the source tree");
    let mut files: Vec<_> = files.map(|file| file.expect("the folder can be read").path()).collect();
    files.sort();
    let text: Vec<u8> = files.iter().flat_map(|file| std::fs::read(file).expect("a migration can be read")).collect();
    Hash::of(&text).0.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn admin_url() -> String {
    std::env::var("PIRSSONITE_TEST_DATABASE_URL").expect(
        "PIRSSONITE_TEST_DATABASE_URL is not set: run the tests by `scripts/test`, which starts a PostgreSQL of its own, \
         or let it name one, such as postgres://postgres@127.0.0.1:5432/postgres",
    )
}

async fn open(url: &str) -> PostgresStore {
    // On a busy machine a connection takes its time.
    let options = PostgresOptions { pool_size: POOL_SIZE, connect_timeout: Duration::from_mins(1) };
    PostgresStore::connect(url, options).await.expect("the test database can be opened")
}

async fn connect(url: &str) -> Client {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, connection) =
        connected.expect("the PostgreSQL that PIRSSONITE_TEST_DATABASE_URL names can be connected to");
    // It ends with its client, or when the test ends the connection on purpose.
    tokio::spawn(async move { drop(connection.await) });
    client
}

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("`{sql}` failed: {error:?}"));
}
