//! Passwords are hashed and checked here, with argon2id: slowly, on purpose, and so not more than two at once.
//!
//! A name that nobody has takes as long as one that somebody has: a password is checked against a hash in any case.

use std::sync::Arc;

use argon2::{
    Argon2, PasswordVerifier,
    password_hash::{PasswordHasher, phc::PasswordHash},
};
use domain::{
    account::{PASSWORD_BYTES_MAX, check_password},
    ports::Ids,
};
use tokio::sync::Semaphore;

use crate::error::{ApiError, ApiResult};

/// Passwords that are hashed at once: each takes 19 MiB and a core.
const AT_ONCE: usize = 2;
/// Those that wait, besides. More are told to come again.
const WAITING_MAX: usize = 32;

/// Bytes of a salt, as the standard recommends.
const SALT_BYTES: usize = 16;

/// The hash of no password, with the same cost as ours.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5J3Mgc2FsdC4uLg$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Hashes and checks passwords, in their turn.
#[derive(Debug, Clone)]
pub(crate) struct Passwords {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> Self {
        Self { running: Arc::new(Semaphore::new(AT_ONCE)), admitted: Arc::new(Semaphore::new(AT_ONCE + WAITING_MAX)) }
    }

    /// Whether this is the password of this hash. Without a hash it is not, and takes as long.
    pub(crate) async fn verify(&self, hash: Option<String>, password: String) -> ApiResult<bool> {
        self.run(move || {
            let is_possible = hash.is_some() && password.len() <= PASSWORD_BYTES_MAX;
            let hash = hash.as_deref().unwrap_or(NOBODYS);
            // What is too long for a password is not hashed, but costs the same as one that is not.
            let tried = if is_possible { password.as_bytes() } else { b"nobody's" };
            is_password_of(hash, tried) && is_possible
        })
        .await
    }

    /// The hash of a new password.
    pub(crate) async fn hash(&self, password: String, ids: &'static dyn Ids) -> ApiResult<String> {
        let hashed = self.run(move || hash_password(&password, ids)).await?;
        hashed.map_err(|error| ApiError::BadRequest(error.to_string()))
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> ApiResult<T> {
        let busy = || ApiError::Unavailable("too many passwords are being checked at once; try again later");
        let admitted = Arc::clone(&self.admitted).try_acquire_owned().map_err(|_| busy())?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(|_| busy())?;
        let task = tokio::task::spawn_blocking(move || {
            // Held by the work, not by the request: a client that goes away frees no permit for more.
            let _held = (admitted, running);
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

fn is_password_of(hash: &str, password: &[u8]) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else {
        tracing::error!("stored password hash unreadable");
        return false;
    };
    Argon2::default().verify_password(password, &hash).is_ok()
}

#[cfg(test)]
mod tests {
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
            assert_eq!(passwords.verify(Some(hash.clone()), password.to_owned()).await.unwrap(), expect, "{password}");
        }
        assert!(!passwords.verify(None, "nobody's".to_owned()).await.unwrap());
        assert!(!passwords.verify(Some(hash), "x".repeat(2000)).await.unwrap());
        assert!(PasswordHash::new(NOBODYS).is_ok());
        assert!(passwords.hash("short".to_owned(), &Same(1)).await.unwrap_err().to_string().contains("at least 8"));
    }

    #[tokio::test]
    async fn a4_only_so_many_passwords_wait() {
        let passwords = Passwords::new();
        let all = passwords.admitted.try_acquire_many(u32::try_from(AT_ONCE + WAITING_MAX).unwrap()).unwrap();
        let refused = passwords.verify(None, String::new()).await.unwrap_err();
        assert!(matches!(refused, ApiError::Unavailable(_)), "{refused}");
        drop(all);
        assert!(!passwords.verify(None, String::new()).await.unwrap());
    }
}
