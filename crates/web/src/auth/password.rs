//! Passwords are hashed and checked here, with argon2id: slowly, on purpose, and so not more than two at once. Those who have
//! failed before take one turn at most, so that whoever has not comes in also while many guess.
//!
//! A name that nobody has takes as long as one that somebody has: a password is checked against a hash in any case.

use std::sync::Arc;

use argon2::{
    Argon2, PasswordVerifier,
    password_hash::{PasswordHasher, phc::PasswordHash},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use domain::{
    account::{Credentials, PASSWORD_BYTES_MAX, check_password},
    ports::Ids,
};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::error::{ApiError, ApiResult};

/// Passwords that are hashed at once: each takes 19 MiB and a core.
const AT_ONCE: usize = 2;
/// Of them those of addresses that have failed before.
const AT_ONCE_AFTER_FAILURES: usize = 1;
/// Those that wait, of either kind. More are told to come again. All of them take some seconds.
const WAITING_MAX: usize = 256;

/// Bytes of a secret that is derived of a password: as many as those made by chance.
const DERIVED_BYTES: usize = 32;

/// Bytes of a salt, as the standard recommends.
const SALT_BYTES: usize = 16;

/// The hash of no password, with the same cost as ours.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5J3Mgc2FsdC4uLg$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What is known of the address that wants a password checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reputation {
    Good,
    HasFailed,
}

/// Hashes and checks passwords, in their turn.
#[derive(Debug, Clone)]
pub(crate) struct Passwords {
    running: Arc<Semaphore>,
    good: Queue,
    failed: Queue,
}

/// Those of one standing.
#[derive(Debug, Clone)]
struct Queue {
    admitted: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

impl Queue {
    fn new(at_once: usize) -> Self {
        let admitted = Arc::new(Semaphore::new(at_once + WAITING_MAX));
        Self { admitted, turns: Arc::new(Semaphore::new(at_once)) }
    }
}

impl Passwords {
    pub(crate) fn new() -> Self {
        let (good, failed) = (Queue::new(AT_ONCE), Queue::new(AT_ONCE_AFTER_FAILURES));
        Self { running: Arc::new(Semaphore::new(AT_ONCE)), good, failed }
    }

    /// Whether this is the password of this hash. Without a hash it is not, and takes as long.
    pub(crate) async fn verify(&self, hash: Option<String>, password: String, of: Reputation) -> ApiResult<bool> {
        self.run(of, move || {
            let is_possible = hash.is_some() && password.len() <= PASSWORD_BYTES_MAX;
            let hash = hash.as_deref().unwrap_or(NOBODYS);
            // What is too long for a password is not hashed, but costs the same as one that is not.
            let tried = if is_possible { password.as_bytes() } else { b"nobody's" };
            is_password_of(hash, tried) && is_possible
        })
        .await
    }

    /// A secret that only whoever has the password of these credentials can make: the same each time, until an app's
    /// session is ended, and as slow to guess.
    pub(crate) async fn derive(&self, credentials: &Credentials, password: String) -> ApiResult<String> {
        let salt = salt_of(credentials);
        let derived = self.run(Reputation::Good, move || derive(&salt, &password)).await?;
        derived.map_err(|error| ApiError::Internal(format!("no secret was derived: {error}")))
    }

    /// The hash of a new password.
    pub(crate) async fn hash(&self, password: String, ids: &'static dyn Ids) -> ApiResult<String> {
        let hashed = self.run(Reputation::Good, move || hash_password(&password, ids)).await?;
        hashed.map_err(|error| ApiError::BadRequest(error.to_string()))
    }

    async fn run<T: Send + 'static>(&self, of: Reputation, work: impl FnOnce() -> T + Send + 'static) -> ApiResult<T> {
        let busy = || ApiError::Unavailable("too many passwords are being checked at once; try again later");
        let queue = if of == Reputation::Good { &self.good } else { &self.failed };
        let admitted = Arc::clone(&queue.admitted).try_acquire_owned().map_err(|_| busy())?;
        let turn = Arc::clone(&queue.turns).acquire_owned().await.map_err(|_| busy())?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(|_| busy())?;
        let task = tokio::task::spawn_blocking(move || {
            // Held by the work, not by the request: a client that goes away frees no permit for more.
            let _held = (admitted, turn, running);
            work()
        });
        task.await.map_err(|error| ApiError::Internal(format!("a password was not checked: {error}")))
    }
}

/// Why a password cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    #[error(transparent)]
    Bad(#[from] domain::account::BadPassword),
    #[error("the password cannot be hashed: {0}")]
    Failed(String),
}

/// The hash of a password that is fit to be one, in the PHC format. It takes a while.
pub fn hash_password(password: &str, ids: &dyn Ids) -> Result<String, HashError> {
    check_password(password)?;
    let mut salt = [0; SALT_BYTES];
    ids.fill(&mut salt);
    let hash: PasswordHash = Argon2::default()
        .hash_password_with_salt(password.as_bytes(), &salt)
        .map_err(|error| HashError::Failed(error.to_string()))?;
    Ok(hash.to_string())
}

/// Another salt than that of the stored hash, so that the hash does not say what is derived.
fn salt_of(credentials: &Credentials) -> [u8; 32] {
    let salt = Sha256::new().chain_update(b"pirssonite app login");
    let salt = salt.chain_update(credentials.app_sessions_ended.to_be_bytes());
    salt.chain_update(credentials.password_hash.as_deref().unwrap_or_default()).finalize().into()
}

fn derive(salt: &[u8], password: &str) -> Result<String, argon2::Error> {
    let mut derived = [0; DERIVED_BYTES];
    Argon2::default().hash_password_into(password.as_bytes(), salt, &mut derived)?;
    Ok(URL_SAFE_NO_PAD.encode(derived))
}

fn is_password_of(hash: &str, password: &[u8]) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else {
        tracing::error!("stored password hash unreadable");
        return false;
    };
    Argon2::default().verify_password(password, &hash).is_ok()
}

#[cfg(test)]
mod tests {
    use domain::account::{Account, READER, READER_NAME};

    use super::*;

    #[derive(Debug)]
    struct Same(u8);

    impl Ids for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[tokio::test]
    async fn a1_passwords_are_kept_as_argon2id() {
        let passwords = Passwords::new();
        let hash = passwords.hash("correct horse".to_owned(), &Same(1)).await.unwrap();
        // What it costs is what it costs for a name that nobody has.
        let costs = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(hash.starts_with(costs) && NOBODYS.starts_with(costs), "{hash}");
        assert_eq!(hash.len(), NOBODYS.len());
        for (password, expect) in [("correct horse", true), ("correct horse ", false), ("", false)] {
            assert_eq!(
                passwords.verify(Some(hash.clone()), password.to_owned(), Reputation::Good).await.unwrap(),
                expect,
                "{password}"
            );
        }
        assert!(!passwords.verify(None, "nobody's".to_owned(), Reputation::Good).await.unwrap());
        assert!(!passwords.verify(Some(hash), "x".repeat(2000), Reputation::Good).await.unwrap());
        assert!(PasswordHash::new(NOBODYS).is_ok());
        assert!(passwords.hash("short".to_owned(), &Same(1)).await.unwrap_err().to_string().contains("at least 8"));
    }

    #[tokio::test]
    async fn s1_what_is_derived_of_a_password_is_the_same_each_time() {
        let passwords = Passwords::new();
        let derive = async |hash: &str, app_sessions_ended: i64, password: &str| {
            let account = Account {
                id: READER,
                name: READER_NAME.to_owned(),
                is_admin: true,
                has_password: true,
                created_at: jiff::Timestamp::UNIX_EPOCH,
            };
            let credentials = Credentials { account, password_hash: Some(hash.to_owned()), app_sessions_ended };
            passwords.derive(&credentials, password.to_owned()).await.unwrap()
        };
        let first = derive(NOBODYS, 0, "correct horse").await;
        assert_eq!(first, derive(NOBODYS, 0, "correct horse").await);
        assert!(domain::account::session_hash(&first).is_some(), "{first}");
        assert_ne!(first, derive(NOBODYS, 0, "correct horsf").await);
        assert_ne!(first, derive(&NOBODYS.replace("bm9ib2R5", "bm9ib2R6"), 0, "correct horse").await, "another hash");
        assert_ne!(first, derive(NOBODYS, 1, "correct horse").await, "ended since");
        assert!(!NOBODYS.contains(&first));
    }

    #[tokio::test]
    async fn a4_only_so_many_passwords_wait() {
        let passwords = Passwords::new();
        let check = |of: Reputation| passwords.verify(None, String::new(), of);
        let places = u32::try_from(AT_ONCE_AFTER_FAILURES + WAITING_MAX).unwrap();
        let all = passwords.failed.admitted.try_acquire_many(places).unwrap();
        let refused = check(Reputation::HasFailed).await.unwrap_err();
        assert!(matches!(refused, ApiError::Unavailable(_)), "{refused}");
        assert!(!check(Reputation::Good).await.unwrap());
        drop(all);
        assert!(!check(Reputation::HasFailed).await.unwrap());
    }

    #[tokio::test]
    async fn a4_those_who_have_failed_do_not_hold_up_others() {
        let passwords = Passwords::new();
        // As if one of them were being checked: the next waits, and one of good standing does not.
        let turn = passwords.failed.turns.acquire().await.unwrap();
        let running = passwords.running.acquire().await.unwrap();
        let mut next = std::pin::pin!(passwords.verify(None, String::new(), Reputation::HasFailed));
        assert!(futures_util::poll!(&mut next).is_pending());
        assert!(!passwords.verify(None, String::new(), Reputation::Good).await.unwrap());
        assert!(futures_util::poll!(&mut next).is_pending());
        drop((turn, running));
        assert!(!next.await.unwrap());
    }
}
