//! Apps of other readers beside the page: what either marks, the other shows (requirement S4).

use reqwest::Method;
use serde_json::Value;

use crate::{
    browser::{DESK, with_browser},
    scene::{ENTRIES, Scene, Store},
    server::client,
};

const READ: &str = "user/-/state/com.google/read";
const STARRED: &str = "user/-/state/com.google/starred";

/// An app that has logged in by Google Reader's interface.
struct App<'a> {
    scene: &'a Scene,
    auth: String,
}

impl<'a> App<'a> {
    /// Out of the box any password will do on this machine.
    async fn log_in(scene: &'a Scene) -> Self {
        let login = format!("{}/accounts/ClientLogin?Email=reader&Passwd=any", scene.url);
        let answer = client().post(login).send().await.unwrap().text().await.unwrap();
        let auth = answer.lines().find_map(|line| line.strip_prefix("Auth=")).unwrap_or_else(|| panic!("{answer}"));
        Self { scene, auth: auth.to_owned() }
    }

    async fn ask(&self, method: Method, path: &str) -> String {
        let request = client().request(method, format!("{}/reader/api/0/{path}", self.scene.url));
        let answer = request.header("authorization", format!("GoogleLogin auth={}", self.auth)).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        answer.text().await.unwrap()
    }

    /// The ids of what this asks for.
    async fn ids(&self, query: &str) -> Vec<String> {
        let path = format!("stream/items/ids?output=json&n=1000&{query}");
        let answer: Value = serde_json::from_str(&self.ask(Method::GET, &path).await).unwrap();
        answer["itemRefs"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_what_an_app_marks_is_on_the_open_page_and_the_other_way_round() {
    for store in [Store::Sqlite, Store::Postgres] {
        let scene = Scene::start(store).await;
        let id = scene.get("/api/entries?limit=1").await["entries"][0]["id"].as_i64().unwrap();
        let app = App::log_in(&scene).await;
        with_browser(&format!("app-{store:?}"), DESK, async |browser| {
            scene.open(browser, "/all").await;
            let marks = format!("edit-tag?i={id}&a={READ}&a={STARRED}");
            assert_eq!(app.ask(Method::POST, &marks).await, "OK");
            browser.find(&format!("#e{id}.starred:not(.unread)")).await;
            browser.find(&format!("[data-count=unread][data-n='{}']", 2 * ENTRIES - 1)).await;
            // What the page takes back is not there any more when the app asks again.
            browser.press("jms").await;
            scene.entry_is(browser, id, "isRead", false).await;
            scene.entry_is(browser, id, "isStarred", false).await;
            let unread = app.ids(&format!("s=user/-/state/com.google/reading-list&xt={READ}")).await;
            assert!(unread.contains(&id.to_string()), "{unread:?}");
            assert_eq!(app.ids(&format!("s={STARRED}")).await, [""; 0]);
            browser.assert_no_complaints().await;
        })
        .await;
    }
}
