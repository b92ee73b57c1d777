//! A browser: what a person does with a page, and what a person sees of it. It waits for signs, never for a length of time.
//! Debian's chromium, driven over WebDriver; `scripts/with-browser` installs it.

#![expect(clippy::missing_panics_doc, reason = "in a test, whatever goes wrong ends it")]

mod chromium;
mod log;

use std::time::Duration;

use fantoccini::{
    Client, Locator,
    actions::{
        InputSource, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction, WheelAction, WheelActions,
    },
    wd::WebDriverCompatibleCommand,
};
pub use fantoccini::{elements::Element, key::Key};
use http::Method;
use serde_json::{Value, json};
use url::{ParseError, Url};

use self::chromium::Chromium;
pub use self::log::Log;

/// How long it waits for what never comes.
const WAIT_MAX: Duration = Duration::from_mins(2);

/// Time between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(25);

/// How long a drag takes: what is dragged has to be seen to move.
const DRAG: Duration = Duration::from_millis(50);

const HEIGHT: u32 = 900;

/// The parts of a page that scroll up and down, and never to the side. One pixel is what rounding leaves.
const WIDER: &str = "
    const parts = [document.documentElement, ...document.querySelectorAll('main, nav, .scroll, .reading, .tree, .options, dialog')];
    const wide = parts.map((part) => [part.className || part.localName, part.scrollWidth - part.clientWidth]);
    return wide.filter(([, pixels]) => pixels > 1)";

/// Keeps the messages of every page, from its first on: each is shown for seconds alone. The page's own scripts know nothing
/// of it.
const KEEP_MESSAGES: &str = "
    const messages = window.toldMessages = [];
    const keep = (nodes) => messages.push(...[...nodes].map((node) => node.textContent));
    const finder = new MutationObserver(() => {
        const box = document.getElementById('status');
        if (!box) return;
        finder.disconnect();
        keep(box.childNodes);
        new MutationObserver((changes) => changes.forEach(({ addedNodes }) => keep(addedNodes))).observe(box, { childList: true });
    });
    finder.observe(document, { childList: true, subtree: true })";

/// What the user's system asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Light,
    Dark,
}

/// A browser with one window. It ends with this.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    _chromium: Chromium,
}

/// A special key, for [`Browser::press`].
pub fn key(key: Key) -> String {
    char::from(key).to_string()
}

impl Browser {
    /// A new one with nothing in it, as wide as this.
    pub async fn start(width: u32) -> Self {
        Self::start_with(width, false).await
    }

    /// The same, and it notes all that it asks for: see [`Self::requests`].
    pub async fn start_noting_requests(width: u32) -> Self {
        Self::start_with(width, true).await
    }

    async fn start_with(width: u32, notes_requests: bool) -> Self {
        let chromium = Chromium::start();
        let browser = Self { client: chromium.open(notes_requests).await, _chromium: chromium };
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": KEEP_MESSAGES })).await;
        browser.resize(width).await;
        browser
    }

    pub async fn close(self) {
        self.client.close().await.expect("the browser ends");
    }

    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    pub async fn url(&self) -> Url {
        self.client.current_url().await.expect("a page has a URL")
    }

    pub async fn path(&self) -> String {
        self.url().await.path().to_owned()
    }

    /// Makes the page as wide as this, as a phone does, whatever a window can be.
    pub async fn resize(&self, width: u32) {
        self.resize_to(width, HEIGHT).await;
    }

    /// The same with another height.
    pub async fn resize_to(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// What the user's system asks for from now on.
    pub async fn prefer(&self, scheme: Scheme) {
        let value = if scheme == Scheme::Dark { "dark" } else { "light" };
        // And no motion: a colour that is on its way to another is none that a page was made with.
        let features = [("prefers-color-scheme", value), ("prefers-reduced-motion", "reduce")];
        let features = features.map(|(name, value)| json!({ "name": name, "value": value }));
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// The first element that this selector finds. Waits for it.
    pub async fn find(&self, selector: &str) -> Element {
        self.wait(selector, async || self.client.find(Locator::Css(selector)).await.ok()).await
    }

    /// How many elements there are.
    pub async fn count(&self, selector: &str) -> usize {
        self.client.find_all(Locator::Css(selector)).await.map_or(0, |found| found.len())
    }

    /// Waits until there is no such element.
    pub async fn gone(&self, selector: &str) {
        let what = format!("the end of {selector}");
        self.wait(&what, async || (self.count(selector).await == 0).then_some(())).await;
    }

    /// Waits until the page's scripts have run: modules do when its HTML is read, before it is loaded.
    pub async fn ready(&self) {
        self.holds("document.readyState === 'complete'").await;
    }

    /// Does what leads to another page, or to the same anew, and waits until the scripts of that have run. What the page
    /// before says is so never taken for what the next says.
    pub async fn turns_page(&self, act: impl AsyncFnOnce()) {
        self.run("window.isLeft = true").await;
        act().await;
        self.holds("!window.isLeft && document.readyState === 'complete'").await;
    }

    /// Waits until this holds in the page: an expression of JavaScript.
    pub async fn holds(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        let look = async || {
            let held = self.client.execute(&script, Vec::new()).await.ok()?;
            (held == true).then_some(())
        };
        self.wait(expression, look).await;
    }

    /// Waits until the page has opened another window, and closes that: a page behind another is hardly given any time.
    pub async fn close_opened(&self) {
        let own = self.client.window().await.expect("it has a window");
        let opened = self.wait("another window", async || {
            let windows = self.client.windows().await.ok()?;
            windows.into_iter().find(|window| *window != own)
        });
        self.client.switch_to_window(opened.await).await.expect("the window is there");
        self.client.close_window().await.expect("a window can be closed");
        self.client.switch_to_window(own).await.expect("its own window is there");
    }

    pub async fn back(&self) {
        self.client.back().await.expect("there is a page before");
    }

    pub async fn forward(&self) {
        self.client.forward().await.expect("there is a page after");
    }

    pub async fn reload(&self) {
        self.client.refresh().await.expect("a page can be loaded again");
    }

    /// Waits until an element says this.
    pub async fn says(&self, selector: &str, text: &str) {
        self.wait(&format!("{selector} to say {text:?}"), async || {
            let element = self.client.find(Locator::Css(selector)).await.ok()?;
            element.text().await.ok().filter(|said| said.contains(text))
        })
        .await;
    }

    /// Waits until the page has told of something by a message, also where that is not shown any more. What it told of before
    /// is forgotten with it.
    pub async fn tells(&self, text: &str) {
        let script = format!(
            "const place = toldMessages.findIndex((message) => message.includes({})); \
             toldMessages.splice(0, place + 1); return place >= 0",
            json!(text)
        );
        self.wait(&format!("a message {text:?}"), async || {
            let is_told = self.client.execute(&script, Vec::new()).await.ok()?;
            (is_told == true).then_some(())
        })
        .await;
    }

    /// Waits until it is at this path.
    pub async fn is_at(&self, path: &str) {
        self.wait(path, async || (self.path().await == path).then_some(())).await;
    }

    /// Clicks with the mouse. What lies under something else cannot be clicked.
    pub async fn click(&self, selector: &str) {
        // What a live page replaces between the look and the click is looked for again.
        while let Err(error) = self.find(selector).await.click().await {
            assert!(error.to_string().contains("stale element"), "{selector}: {error}");
        }
    }

    /// Chooses of a list by its value.
    pub async fn choose(&self, selector: &str, value: &str) {
        let chosen = self.find(selector).await.select_by_value(value).await;
        chosen.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Types into an element, wherever the focus is. Into one for files: the path of one.
    pub async fn type_into(&self, selector: &str, text: &str) {
        let typed = self.find(selector).await.send_keys(text).await;
        typed.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Drags one element onto another.
    pub async fn drag(&self, from: &str, to: &str) {
        let (from, to) = (self.find(from).await, self.find(to).await);
        let to_element = |element: &Element, duration| PointerAction::MoveToElement {
            element: element.clone(),
            duration,
            x: 0.0,
            y: 0.0,
        };
        let drag = MouseActions::new("mouse".to_owned())
            .then(to_element(&from, None))
            .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
            .then(PointerAction::MoveBy { duration: Some(DRAG), x: 4.0, y: 4.0 })
            .then(to_element(&to, Some(DRAG)))
            .then(PointerAction::MoveBy { duration: Some(DRAG), x: 2.0, y: 0.0 })
            .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
        self.client.perform_actions(drag).await.expect("the mouse can be moved");
    }

    /// Clicks on what stands where this expression of JavaScript says: an element, also one in a shadow root.
    pub async fn click_on(&self, element: &str) {
        self.holds(element).await;
        let place = format!(
            "const element = {element}; element.scrollIntoView({{ block: 'center' }}); \
             const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]"
        );
        let place = self.run(&place).await;
        let at = |index: usize| place[index].as_f64().expect("an element has a place");
        let click = MouseActions::new("mouse".to_owned())
            .then(PointerAction::MoveTo { duration: None, x: at(0), y: at(1) })
            .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
            .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
        self.client.perform_actions(click).await.expect("the mouse can be used");
    }

    /// Turns the wheel by so many pixels over the middle of an element.
    pub async fn wheel(&self, selector: &str, pixels: i64) {
        let box_of = format!(
            "const box = document.querySelector({}).getBoundingClientRect(); \
             return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)]",
            json!(selector)
        );
        let place = self.run(&box_of).await;
        let at = |index: usize| place[index].as_i64().expect("an element has a place");
        let scroll = WheelAction::Scroll { duration: None, x: at(0), y: at(1), delta_x: 0, delta_y: pixels };
        self.client.perform_actions(WheelActions::new("wheel".to_owned()).then(scroll)).await.expect("a wheel turns");
    }

    /// Presses keys one after the other, wherever the focus is, as a person does. Special ones are made by [`key`].
    pub async fn press(&self, keys: &str) {
        let mut actions = KeyActions::new("keyboard".to_owned());
        for value in keys.chars() {
            actions = actions.then(KeyAction::Down { value }).then(KeyAction::Up { value });
        }
        self.client.perform_actions(actions).await.expect("keys can be pressed");
    }

    /// Presses a special key.
    pub async fn press_key(&self, special: Key) {
        self.press(&key(special)).await;
    }

    /// Presses Tab until an element has the focus that this selector finds, as a person without a mouse does.
    pub async fn tab_to(&self, selector: &str) {
        self.tab_until(&format!("document.activeElement?.matches({})", json!(selector))).await;
    }

    /// Presses Tab until this holds in the page.
    pub async fn tab_until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        self.wait(&format!("Tab to reach {expression}"), async || {
            if self.run(&script).await == true {
                return Some(());
            }
            self.press_key(Key::Tab).await;
            None
        })
        .await;
    }

    /// The id of the element that has the focus.
    pub async fn focused(&self) -> String {
        let id = self.run("return document.activeElement?.id ?? ''").await;
        id.as_str().unwrap_or_default().to_owned()
    }

    /// Runs a script in the page; returns what it returns.
    pub async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap_or_else(|error| panic!("{script:.200}: {error}"))
    }

    /// The same of one that ends later: it calls its last argument.
    pub async fn run_async(&self, script: &str) -> Value {
        self.client.execute_async(script, Vec::new()).await.unwrap_or_else(|error| panic!("{script:.200}: {error}"))
    }

    /// That nothing stands out to the side of the page, or of a part of it that scrolls by itself.
    pub async fn assert_fits(&self) {
        let wider = self.run(WIDER).await;
        assert_eq!(wider, json!([]), "parts that are wider than their room, by so many pixels");
    }

    /// That since the last look no Content-Security-Policy was violated and no script failed.
    pub async fn assert_no_complaints(&self) {
        let complaints = self.log().await.complaints();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }

    /// What the browser has logged since the last look.
    pub async fn log(&self) -> Log {
        let logged = self.client.issue_cmd(Extension { path: "se/log", body: json!({ "type": "browser" }) }).await;
        Log::read(&logged.expect("the log can be read"))
    }

    /// What it has asked for since the last look: the URLs, if it notes them.
    pub async fn requests(&self) -> Vec<String> {
        let noted = self.client.issue_cmd(Extension { path: "se/log", body: json!({ "type": "performance" }) }).await;
        log::requests(&noted.expect("the log can be read"))
    }

    /// Looks at something until it is there.
    pub async fn wait<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
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

    /// A command of the developer tools; returns its answer.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        let answer = self.client.issue_cmd(Extension { path: "goog/cdp/execute", body }).await;
        answer.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// What the page looks like, as a PNG.
    pub async fn picture(&self) -> Option<Vec<u8>> {
        self.client.screenshot().await.ok()
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
