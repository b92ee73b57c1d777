//! A pooler in front of the database, as pgbouncer is one: connections that it takes share sessions of the server, and what
//! connections begin with is refused or forgotten.
//!
//! The server lets in whoever it is told (`trust`), as the one of the tests does.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};
use url::Url;

/// How sessions of the server are shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// A connection has a session for itself, as long as it is there.
    Session,
    /// Each transaction may have another, and statements that were prepared in one are known in no other: pgbouncer before
    /// 1.21.
    Transaction,
    /// The same, but statements are prepared again where they are not known: pgbouncer since 1.21.
    TransactionWithStatements,
}

/// What connections may begin with; all else is refused.
const PARAMETERS: [&str; 4] = ["user", "database", "client_encoding", "application_name"];

/// The protocol that is spoken, version 3.0.
const PROTOCOL: i32 = 196_608;

/// Bytes of a message, its length included; more is no message.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Messages that wait to be passed on.
const MESSAGES_WAITING_MAX: usize = 64;

/// A pooler that runs as long as the test does.
#[derive(Debug)]
pub struct Pooler {
    url: String,
    sessions: Arc<Sessions>,
}

impl Pooler {
    /// In front of the database at this URL.
    ///
    /// # Panics
    ///
    /// If the URL names no host, or there is no port left.
    pub async fn to(url: &str, mode: PoolMode) -> Self {
        let mut here = Url::parse(url).expect("the URL can be read");
        let database = format!("{}:{}", here.host_str().expect("it names a host"), here.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port left");
        let port = listener.local_addr().expect("it listens").port();
        here.set_host(Some("127.0.0.1")).expect("it has a host");
        here.set_port(Some(port)).expect("it has a host");
        let sessions = Arc::new(Sessions { database, idle: Mutex::default() });
        let shared = Arc::clone(&sessions);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let sessions = Arc::clone(&shared);
                // Whoever is served sees what went wrong.
                tokio::spawn(async move { drop(serve(client, &sessions, mode).await) });
            }
        });
        Self { url: here.into(), sessions }
    }

    /// The database's URL by this pooler.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends the sessions that nobody has now, as a restart does.
    pub fn end_idle_sessions(&self) {
        self.sessions.idle().clear();
    }
}

/// The sessions that nobody has now. The one that was given back last is handed out first.
#[derive(Debug)]
struct Sessions {
    database: String,
    idle: Mutex<Vec<Session>>,
}

/// A session of the server.
#[derive(Debug)]
struct Session {
    to: OwnedWriteHalf,
    from: mpsc::Receiver<Message>,
    /// What the server said of itself at its start.
    greeting: Vec<u8>,
    /// The statements that are prepared in it.
    statements: BTreeSet<Vec<u8>>,
}

/// A message of either side, as it was sent.
#[derive(Debug)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn kind(&self) -> u8 {
        self.bytes[0]
    }

    fn body(&self) -> &[u8] {
        &self.bytes[5..]
    }

    /// The name of the statement that it prepares, if it has one.
    fn prepares(&self) -> Option<Vec<u8>> {
        let name = self.body().split(|byte| *byte == 0).next()?;
        (self.kind() == b'P' && !name.is_empty()).then(|| name.to_vec())
    }

    /// The name of the statement that it closes.
    fn closes(&self) -> Option<Vec<u8>> {
        let name = self.body().strip_prefix(b"S").filter(|_| self.kind() == b'C')?;
        Some(name.split(|byte| *byte == 0).next()?.to_vec())
    }
}

impl Sessions {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take(&self, parameters: &BTreeMap<String, String>) -> io::Result<Session> {
        let idle = self.idle().pop();
        match idle {
            Some(session) => Ok(session),
            None => Session::begin(&self.database, parameters).await,
        }
    }
}

impl Session {
    async fn begin(database: &str, parameters: &BTreeMap<String, String>) -> io::Result<Self> {
        let (from, mut to) = TcpStream::connect(database).await?.into_split();
        let mut startup = PROTOCOL.to_be_bytes().to_vec();
        for text in parameters.iter().flat_map(|(name, value)| [name, value]) {
            startup.extend_from_slice(text.as_bytes());
            startup.push(0);
        }
        startup.push(0);
        to.write_all(&length_of(&startup)).await?;
        to.write_all(&startup).await?;
        let mut session = Self { to, from: messages(from), greeting: Vec::new(), statements: BTreeSet::new() };
        session.greeting = session.until_ready().await?;
        Ok(session)
    }

    /// All that the server says until it is ready.
    async fn until_ready(&mut self) -> io::Result<Vec<u8>> {
        let mut said = Vec::new();
        loop {
            let message = self.from.recv().await.ok_or(io::ErrorKind::UnexpectedEof)?;
            let is_ready = message.kind() == b'Z';
            said.extend(message.bytes);
            if is_ready {
                return Ok(said);
            }
        }
    }

    /// Prepares what is not known in it.
    async fn prepare(&mut self, statements: &BTreeMap<Vec<u8>, Vec<u8>>) -> io::Result<()> {
        let missing: Vec<_> = statements.iter().filter(|(name, _)| !self.statements.contains(*name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        for (name, message) in missing {
            self.to.write_all(message).await?;
            self.statements.insert(name.clone());
        }
        self.to.write_all(b"S\0\0\0\x04").await?;
        self.until_ready().await.map(drop)
    }
}

/// One connection, until either side ends it.
async fn serve(client: TcpStream, sessions: &Sessions, mode: PoolMode) -> io::Result<()> {
    let (mut from, mut to) = client.into_split();
    let parameters = startup(&mut from).await?;
    if let Some(name) = parameters.keys().find(|name| !PARAMETERS.contains(&name.as_str())) {
        return to.write_all(&refusal(&format!("unsupported startup parameter: {name}"))).await;
    }
    let mut held = Some(sessions.take(&parameters).await?);
    let greeting = held.as_ref().map(|session| session.greeting.clone()).unwrap_or_default();
    to.write_all(&greeting).await?;
    if mode != PoolMode::Session {
        sessions.idle().extend(held.take());
    }
    // What this connection has prepared; how often it waits for the server to be ready, and whether it is to ask for that.
    let (mut statements, mut waits, mut is_open) = (BTreeMap::new(), 0_usize, false);
    let mut asked = messages(from);
    loop {
        tokio::select! {
            message = asked.recv() => {
                let Some(message) = message.filter(|message| message.kind() != b'X') else { return Ok(()) };
                let session = match &mut held {
                    Some(session) => session,
                    None => held.insert(sessions.take(&parameters).await?),
                };
                if waits == 0 && mode == PoolMode::TransactionWithStatements {
                    session.prepare(&statements).await?;
                }
                if let Some(name) = message.prepares() {
                    session.statements.insert(name.clone());
                    statements.insert(name, message.bytes.clone());
                } else if let Some(name) = message.closes() {
                    session.statements.remove(&name);
                    statements.remove(&name);
                }
                is_open = !matches!(message.kind(), b'Q' | b'S');
                waits += usize::from(!is_open);
                session.to.write_all(&message.bytes).await?;
            }
            answer = answer(&mut held) => {
                let Some(answer) = answer else { return Ok(()) };
                to.write_all(&answer.bytes).await?;
                if answer.kind() == b'Z' {
                    waits -= 1;
                    // `I`: outside a transaction.
                    if waits == 0 && !is_open && mode != PoolMode::Session && answer.body() == b"I" {
                        sessions.idle().extend(held.take());
                    }
                }
            }
        }
    }
}

async fn answer(held: &mut Option<Session>) -> Option<Message> {
    match held {
        Some(session) => session.from.recv().await,
        None => std::future::pending().await,
    }
}

/// What a connection begins with.
async fn startup(from: &mut OwnedReadHalf) -> io::Result<BTreeMap<String, String>> {
    let length = read_length(from).await?;
    let mut body = vec![0; length];
    from.read_exact(&mut body).await?;
    let texts = body.strip_prefix(&PROTOCOL.to_be_bytes()).ok_or(io::ErrorKind::InvalidData)?;
    let texts: Vec<String> = texts
        .split(|byte| *byte == 0)
        .take_while(|text| !text.is_empty())
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect();
    Ok(texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
}

/// The messages of one side, as they come.
fn messages(mut from: OwnedReadHalf) -> mpsc::Receiver<Message> {
    let (send, messages) = mpsc::channel(MESSAGES_WAITING_MAX);
    tokio::spawn(async move {
        while let Ok(message) = read_message(&mut from).await {
            if send.send(message).await.is_err() {
                return;
            }
        }
    });
    messages
}

async fn read_message(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Message> {
    let kind = from.read_u8().await?;
    let length = read_length(from).await?;
    let mut bytes = vec![kind];
    bytes.extend(u32::try_from(length + 4).unwrap_or(u32::MAX).to_be_bytes());
    bytes.resize(length + 5, 0);
    from.read_exact(&mut bytes[5..]).await?;
    Ok(Message { bytes })
}

/// How many bytes follow a length, which counts itself.
async fn read_length(from: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
    let length = usize::try_from(from.read_u32().await?).unwrap_or(usize::MAX);
    length.checked_sub(4).filter(|length| *length <= MESSAGE_BYTES_MAX).ok_or(io::ErrorKind::InvalidData.into())
}

fn length_of(body: &[u8]) -> [u8; 4] {
    u32::try_from(body.len() + 4).unwrap_or(u32::MAX).to_be_bytes()
}

fn refusal(reason: &str) -> Vec<u8> {
    let body = format!("SFATAL\0C08P01\0M{reason}\0\0");
    [b"E".as_slice(), &length_of(body.as_bytes()), body.as_bytes()].concat()
}
