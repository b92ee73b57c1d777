//! Browsers for tests. A test that fails leaves pictures of its pages in `target/tmp/browser`.

use std::{
    fs,
    panic::{AssertUnwindSafe, resume_unwind},
    path::Path,
};

use futures_util::FutureExt;
pub(crate) use testkit::browser::{Browser, Key, Scheme, key};
use tokio::sync::Semaphore;

/// Browsers at once: each is several processes.
static BROWSERS: Semaphore = Semaphore::const_new(BROWSERS_MAX);
const BROWSERS_MAX: usize = 2;

pub(crate) const SCHEMES: [Scheme; 2] = [Scheme::Light, Scheme::Dark];

/// Widths that pages are made for: a phone, a tablet, a desk.
pub(crate) const WIDTHS: [u32; 3] = [PHONE, TABLET, DESK];
pub(crate) const PHONE: u32 = 360;
pub(crate) const TABLET: u32 = 800;
pub(crate) const DESK: u32 = 1400;

/// Runs a test in a browser of its own, as wide as this. If it panics, a picture of the page is left under this name.
pub(crate) async fn with_browser(name: &str, width: u32, test: impl AsyncFn(&Browser)) {
    let _turn = BROWSERS.acquire().await.expect("it is never closed");
    let browser = Browser::start(width).await;
    let ended = AssertUnwindSafe(test(&browser)).catch_unwind().await;
    if let Err(panic) = ended {
        leave_picture(&browser, name).await;
        resume_unwind(panic);
    }
    browser.close().await;
}

/// The same with two browsers, which know nothing of each other.
pub(crate) async fn with_two_browsers(name: &str, width: u32, test: impl AsyncFn(&Browser, &Browser)) {
    let _turns = BROWSERS.acquire_many(2).await.expect("it is never closed");
    let (one, two) = tokio::join!(Browser::start(width), Browser::start(width));
    let ended = AssertUnwindSafe(test(&one, &two)).catch_unwind().await;
    if let Err(panic) = ended {
        leave_picture(&one, &format!("{name}-one")).await;
        leave_picture(&two, &format!("{name}-two")).await;
        resume_unwind(panic);
    }
    one.close().await;
    two.close().await;
}

/// What the page looks like, for whoever has to find out why a test failed.
#[expect(clippy::print_stderr, reason = "the runner shows it with the failure")]
async fn leave_picture(browser: &Browser, name: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let file = folder.join(format!("{name}.png"));
    if let Some(picture) = browser.picture().await
        && fs::create_dir_all(&folder).and_then(|()| fs::write(&file, picture)).is_ok()
    {
        eprintln!("the page as it was: {}", file.display());
        eprintln!("at {}: {:#?}", browser.url().await, browser.log().await.complaints());
    }
}
