//! A browser for a test: what a person does with a page, and what a person sees of it. It waits for signs, never for a length
//! of time, and leaves a picture of the page in `target/tmp/browser` if the test fails.

use std::{
    fs,
    panic::{AssertUnwindSafe, resume_unwind},
    path::Path,
    time::Duration,
};

use fantoccini::{
    Client, Locator,
    actions::{InputSource, KeyAction, KeyActions},
    elements::Element,
    key::Key,
    wd::WebDriverCompatibleCommand,
};
use futures_util::FutureExt;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use url::{ParseError, Url};

use crate::{chromium::Chromium, log::Log};

/// How long a test waits for what never comes.
const WAIT_MAX: Duration = Duration::from_mins(2);

/// Time between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(25);

/// Browsers at once: each is several processes.
static BROWSERS: Semaphore = Semaphore::const_new(2);

/// What the user's system asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

pub(crate) const SCHEMES: [Scheme; 2] = [Scheme::Light, Scheme::Dark];

/// Widths that pages are made for: a phone, a tablet, a desk.
pub(crate) const WIDTHS: [u32; 3] = [360, 800, 1400];

const HEIGHT: u32 = 900;

/// A browser with one window.
pub(crate) struct Browser {
    client: Client,
}

/// Runs a test in a browser of its own, as wide as this. If it panics, a picture of the page is left under this name.
pub(crate) async fn with_browser(name: &str, width: u32, test: impl AsyncFn(&Browser)) {
    let _turn = BROWSERS.acquire().await.expect("it is never closed");
    let chromium = Chromium::start();
    let browser = Browser { client: chromium.open().await };
    browser.resize(width).await;
    let ended = AssertUnwindSafe(test(&browser)).catch_unwind().await;
    if let Err(panic) = ended {
        browser.leave_picture(name).await;
        resume_unwind(panic);
    }
    browser.client.close().await.expect("the browser ends");
}

/// A special key, for [`Browser::press`].
pub(crate) fn key(key: Key) -> String {
    char::from(key).to_string()
}

impl Browser {
    /// Opens a page.
    pub(crate) async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// Where it is.
    pub(crate) async fn path(&self) -> String {
        self.client.current_url().await.unwrap().path().to_owned()
    }

    /// Makes the page as wide as this, as a phone does, whatever a window can be.
    pub(crate) async fn resize(&self, width: u32) {
        let metrics = json!({ "width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// What the user's system asks for from now on.
    pub(crate) async fn prefer(&self, scheme: Scheme) {
        let value = if scheme == Scheme::Dark { "dark" } else { "light" };
        // And no motion: a colour that is on its way to another is none that a page was made with.
        let features = [("prefers-color-scheme", value), ("prefers-reduced-motion", "reduce")];
        let features = features.map(|(name, value)| json!({ "name": name, "value": value }));
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// The first element that this selector finds. Waits for it.
    pub(crate) async fn find(&self, selector: &str) -> Element {
        self.wait(selector, async || self.client.find(Locator::Css(selector)).await.ok()).await
    }

    /// How many elements there are.
    pub(crate) async fn count(&self, selector: &str) -> usize {
        self.client.find_all(Locator::Css(selector)).await.unwrap().len()
    }

    /// Waits until there is no such element.
    pub(crate) async fn gone(&self, selector: &str) {
        let what = format!("the end of {selector}");
        self.wait(&what, async || (self.count(selector).await == 0).then_some(())).await;
    }

    /// Waits until the page's scripts have run: modules do when its HTML is read, before it is loaded.
    pub(crate) async fn ready(&self) {
        let script = "return document.readyState === 'complete'";
        self.wait("the page", async || (self.run(script).await == true).then_some(())).await;
    }

    /// Waits until the page has opened another window, and closes that: a page behind another is hardly given any time.
    pub(crate) async fn close_opened(&self) {
        let own = self.client.window().await.unwrap();
        let opened = self.wait("another window", async || {
            let windows = self.client.windows().await.unwrap();
            windows.into_iter().find(|window| *window != own)
        });
        self.client.switch_to_window(opened.await).await.unwrap();
        self.client.close_window().await.unwrap();
        self.client.switch_to_window(own).await.unwrap();
    }

    pub(crate) async fn back(&self) {
        self.client.back().await.unwrap();
    }

    pub(crate) async fn forward(&self) {
        self.client.forward().await.unwrap();
    }

    pub(crate) async fn reload(&self) {
        self.client.refresh().await.unwrap();
    }

    /// Waits until an element says this.
    pub(crate) async fn says(&self, selector: &str, text: &str) {
        self.wait(&format!("{selector} to say {text:?}"), async || {
            let element = self.client.find(Locator::Css(selector)).await.ok()?;
            element.text().await.ok().filter(|said| said.contains(text))
        })
        .await;
    }

    /// Waits until it is at this path.
    pub(crate) async fn is_at(&self, path: &str) {
        self.wait(path, async || (self.path().await == path).then_some(())).await;
    }

    /// Clicks with the mouse.
    pub(crate) async fn click(&self, selector: &str) {
        self.find(selector).await.click().await.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Presses keys one after the other, wherever the focus is, as a person does. Special ones are made by [`key`].
    pub(crate) async fn press(&self, keys: &str) {
        let mut actions = KeyActions::new("keyboard".to_owned());
        for value in keys.chars() {
            actions = actions.then(KeyAction::Down { value }).then(KeyAction::Up { value });
        }
        self.client.perform_actions(actions).await.unwrap();
    }

    /// The id of the element that has the focus.
    pub(crate) async fn focused(&self) -> String {
        let id = self.run("return document.activeElement?.id ?? ''").await;
        id.as_str().unwrap_or_default().to_owned()
    }

    /// Runs a script in the page; returns what it returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// The same of one that ends later: it calls its last argument.
    pub(crate) async fn run_async(&self, script: &str) -> Value {
        self.client.execute_async(script, Vec::new()).await.unwrap()
    }

    /// That nothing stands out of the page to its side.
    pub(crate) async fn assert_fits(&self) {
        let wider =
            self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth").await;
        assert!(wider.as_i64() <= Some(0), "the page is {wider} px wider than its window");
    }

    /// That since the last look no Content-Security-Policy was violated and no script failed.
    pub(crate) async fn assert_no_complaints(&self) {
        let complaints = self.log().await.complaints();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }

    /// What the browser has logged since the last look.
    pub(crate) async fn log(&self) -> Log {
        let logged = self.client.issue_cmd(Extension { path: "se/log", body: json!({ "type": "browser" }) }).await;
        Log::read(&logged.unwrap())
    }

    /// Looks at something until it is there.
    pub(crate) async fn wait<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let looking = async {
            loop {
                if let Some(found) = look().await {
                    return found;
                }
                tokio::time::sleep(LOOK_PAUSE).await;
            }
        };
        tokio::time::timeout(WAIT_MAX, looking).await.unwrap_or_else(|_| panic!("waited for {what}"))
    }

    /// A command of the developer tools.
    async fn devtools(&self, command: &str, parameters: Value) {
        let body = json!({ "cmd": command, "params": parameters });
        self.client.issue_cmd(Extension { path: "goog/cdp/execute", body }).await.unwrap();
    }

    /// What the page looks like, for whoever has to find out why a test failed.
    #[expect(clippy::print_stderr, reason = "the runner shows it with the failure")]
    async fn leave_picture(&self, name: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
        let file = folder.join(format!("{name}.png"));
        if let Ok(picture) = self.client.screenshot().await
            && fs::create_dir_all(&folder).and_then(|()| fs::write(&file, picture)).is_ok()
        {
            eprintln!("the page as it was: {}", file.display());
        }
        if let Ok(url) = self.client.current_url().await {
            eprintln!("at {url}: {:#?}", self.log().await.complaints());
        }
    }
}

/// A command of chromedriver that is no part of WebDriver.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base_url: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base_url.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _url: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
