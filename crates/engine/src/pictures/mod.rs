//! Pictures in entries, fetched in the place of browsers where the operator wants it (`image_proxy`): a publisher then
//! learns nothing of who reads. Only what is a raster picture by its bytes is passed on. All that it takes is bounded:
//! bytes and time of each, how many at once in all and for an account, and the cache on the disk.

mod cache;

use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use domain::{
    AccountId,
    ingest::Hash,
    picture::{PICTURE_BYTES_MAX, PictureSigner},
    ports::{Arrived, Headers, Http, HttpError, HttpRequest, Method},
    raster::{Raster, RasterKind},
};
use tokio::{sync::Semaphore, time::Instant};

use self::cache::PictureCache;

/// Pictures that are fetched at once, and of those for one account: a page of thousands is loaded a few at a time.
const FETCHES_MAX: usize = 8;
const FETCHES_OF_ACCOUNT_MAX: usize = 6;

/// Pictures that are read from the disk at once: each may be as large as one can be.
const READS_MAX: usize = 8;

/// How long one waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a publisher may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(15);
const REDIRECTS_MAX: usize = 5;

/// What could not be had is not asked for again so soon, and so many such are remembered.
const FAILED_FOR: Duration = Duration::from_mins(5);
const FAILED_MAX: usize = 10_000;

const ACCEPT: &str = "image/avif, image/webp, image/png, image/jpeg, image/gif, */*;q=0.1";

/// How pictures are fetched in the place of browsers.
#[derive(Debug, Clone)]
pub struct PictureSettings {
    /// Where they are kept.
    pub folder: PathBuf,
    /// Bytes of all that are kept.
    pub cache_bytes_max: u64,
}

/// A picture, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub kind: RasterKind,
    pub bytes: Vec<u8>,
}

/// Why there is no picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPicture {
    /// What is there is none that may be shown.
    #[error("there is no picture")]
    NotThere,
    #[error("the publisher did not answer")]
    Unreachable,
    #[error("too many pictures at once; try again later")]
    Busy,
}

/// Fetches pictures, and keeps them.
#[derive(Debug)]
pub struct Pictures {
    http: Arc<dyn Http>,
    pub signer: PictureSigner,
    cache: Arc<PictureCache>,
    fetches: Semaphore,
    reads: Semaphore,
    accounts: Mutex<HashMap<AccountId, Arc<Semaphore>>>,
    /// By the hash of the address.
    failed: Mutex<HashMap<Hash, (Instant, NoPicture)>>,
}

impl Pictures {
    /// Pictures that are kept in a folder, with addresses signed by this key.
    pub fn open(http: Arc<dyn Http>, key: &str, settings: &PictureSettings) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            http,
            signer: PictureSigner::new(key),
            cache: Arc::new(PictureCache::open(&settings.folder, settings.cache_bytes_max)?),
            fetches: Semaphore::new(FETCHES_MAX),
            reads: Semaphore::new(READS_MAX),
            accounts: Mutex::default(),
            failed: Mutex::default(),
        }))
    }

    /// The picture at an address, from here or from its publisher.
    pub async fn get(&self, account: AccountId, url: &str) -> Result<Picture, NoPicture> {
        if let Some(picture) = self.kept(url).await {
            return Ok(picture);
        }
        let of_account = self.of_account(account);
        let turn = async { tokio::join!(of_account.acquire(), self.fetches.acquire()) };
        let (Ok(_of_account), Ok(_of_all)) =
            tokio::time::timeout(TURN_TIMEOUT, turn).await.map_err(|_| NoPicture::Busy)?
        else {
            return Err(NoPicture::Busy);
        };
        // Another may have asked for the same meanwhile.
        if let Some(picture) = self.kept(url).await {
            return Ok(picture);
        }
        if let Some(why) = self.has_failed(url) {
            return Err(why);
        }
        let fetched = self.fetch(url).await;
        match &fetched {
            Ok(picture) => self.keep(url, picture.bytes.clone()).await,
            Err(why) => self.note_failure(url, *why),
        }
        fetched
    }

    async fn kept(&self, url: &str) -> Option<Picture> {
        let _turn = self.reads.acquire().await.ok()?;
        let (cache, url) = (Arc::clone(&self.cache), url.to_owned());
        let bytes = tokio::task::spawn_blocking(move || cache.read(&url)).await.ok()??;
        picture_of(bytes)
    }

    /// A disk that takes none is no reason to show none.
    async fn keep(&self, url: &str, bytes: Vec<u8>) {
        let (cache, url) = (Arc::clone(&self.cache), url.to_owned());
        let kept = tokio::task::spawn_blocking(move || cache.write(&url, &bytes)).await;
        if let Ok(Err(error)) = kept {
            tracing::warn!(%error, "picture not kept");
        }
    }

    async fn fetch(&self, url: &str) -> Result<Picture, NoPicture> {
        let request = HttpRequest {
            method: Method::Get,
            url: url.to_owned(),
            credentials: None,
            headers: Headers(vec![("accept".to_owned(), ACCEPT.to_owned())]),
            body: Bytes::new(),
            body_bytes_max: PICTURE_BYTES_MAX,
            redirects_max: REDIRECTS_MAX,
            timeout: FETCH_TIMEOUT,
            arrived: Arrived::default(),
        };
        match self.http.send(request).await {
            Ok(response) if (200..300).contains(&response.status) => {
                picture_of(response.body).ok_or(NoPicture::NotThere)
            }
            Ok(response) if response.status < 500 && response.status != 429 => Err(NoPicture::NotThere),
            Err(HttpError::Forbidden(_) | HttpError::OwnServer(_) | HttpError::BadUrl(_) | HttpError::TooLarge(_)) => {
                Err(NoPicture::NotThere)
            }
            Ok(_) | Err(_) => Err(NoPicture::Unreachable),
        }
    }

    fn of_account(&self, account: AccountId) -> Arc<Semaphore> {
        let mut accounts = lock(&self.accounts);
        // Those that nobody waits at are made anew when they are needed.
        accounts.retain(|_, turns| Arc::strong_count(turns) > 1);
        Arc::clone(accounts.entry(account).or_insert_with(|| Arc::new(Semaphore::new(FETCHES_OF_ACCOUNT_MAX))))
    }

    fn has_failed(&self, url: &str) -> Option<NoPicture> {
        let failed = lock(&self.failed);
        failed.get(&Hash::of(url.as_bytes())).filter(|(at, _)| at.elapsed() < FAILED_FOR).map(|(_, why)| *why)
    }

    fn note_failure(&self, url: &str, why: NoPicture) {
        let mut failed = lock(&self.failed);
        if failed.len() >= FAILED_MAX {
            failed.retain(|_, (at, _)| at.elapsed() < FAILED_FOR);
        }
        if failed.len() < FAILED_MAX {
            failed.insert(Hash::of(url.as_bytes()), (Instant::now(), why));
        }
    }
}

fn picture_of(bytes: Vec<u8>) -> Option<Picture> {
    Raster::read(&bytes).map(|raster| Picture { kind: raster.kind, bytes })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
