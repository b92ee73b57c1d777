//! Sound and films in the page; players of others only when they are asked for.

use reqwest::Method;
use serde_json::json;
use testkit::{Gate, Page};

use crate::{
    axe::assert_accessible,
    browser::{Browser, DESK, Key, WIDTHS, with_browser},
    scene::{Scene, Store, escaped},
};

const FRAME: &str = "<p>Before.</p><iframe src='https://www.youtube.com/embed/abcdefghijk' title='A film'></iframe>";

/// A second of silence.
fn sound() -> Vec<u8> {
    let (rate, samples) = (8_000_u32, 8_000_u32);
    let mut file = Vec::new();
    file.extend(b"RIFF");
    file.extend((36 + samples).to_le_bytes());
    file.extend(b"WAVEfmt ");
    for word in [16_u32, 1 | 1 << 16, rate, rate, 1 | 8 << 16] {
        file.extend(word.to_le_bytes());
    }
    file.extend(b"data");
    file.extend(samples.to_le_bytes());
    file.resize(file.len() + samples as usize, 128);
    file
}

/// Follows a feed with one entry that has these files, by path and type; its id.
async fn follow_with_files(scene: &Scene, files: &[(&str, &str)]) -> i64 {
    let enclosures: String = files
        .iter()
        .map(|(path, kind)| format!("<enclosure url='{}' type='{kind}' length='8044'/>", scene.publisher.url(path)))
        .collect();
    let item = format!(
        "<item><guid>1</guid><title>Show</title>{enclosures}<description>{}</description></item>",
        escaped(FRAME)
    );
    let url = scene.publish("Radio", "/radio", &item);
    scene.call(Method::POST, "/api/feeds", json!({ "url": url })).await["id"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_sound_and_films_play_and_players_wait_for_a_click() {
    let scene = Scene::start(Store::Sqlite).await;
    scene.publisher.set("/sound.wav", Page::body(sound()).header("Content-Type", "audio/wav"));
    // What a film is made of is the browser's matter: a dark one will do.
    scene.publisher.set("/film.mp4", Page::body(sound()).header("Content-Type", "audio/wav"));
    let files = [("/sound.wav", "audio/wav"), ("/film.mp4", "video/mp4")];
    let feed = follow_with_files(&scene, &files).await.to_string();
    with_browser("media", DESK, async |browser| {
        for width in WIDTHS {
            browser.resize(width).await;
            play(&scene, browser, &feed).await;
            browser.assert_fits().await;
        }
        browser.reload().await;
        browser.ready().await;
        assert_accessible(browser).await;
        browser.assert_no_complaints().await;
    })
    .await;
}

async fn play(scene: &Scene, browser: &Browser, feed: &str) {
    let in_entry =
        |selector: &str| format!("document.querySelector('article .body')?.shadowRoot?.querySelector('{selector}')");
    let asked = || ["/sound.wav", "/film.mp4"].map(|path| scene.publisher.requests(path).len());
    let before = asked();
    // By mouse, as the script shows it.
    scene.open(browser, &format!("/feed/{feed}")).await;
    browser.click(".row a").await;
    browser.find("article audio[controls][preload=none]").await;
    browser.find("article video[controls][preload=none]").await;
    browser.holds(&in_entry("a[data-player]")).await;
    browser.holds(&format!("!{}", in_entry("iframe"))).await;
    browser.click_on(&in_entry("a[data-player]")).await;
    browser.holds(&in_entry("iframe[src^=\"https://www.youtube\"][sandbox]")).await;
    assert_eq!(asked(), before);
    // By keyboard, as the server writes it.
    browser.reload().await;
    browser.ready().await;
    for (kind, path) in [("audio", "/sound.wav"), ("video", "/film.mp4")] {
        browser.tab_to(&format!("article {kind}")).await;
        browser.press(" ").await;
        browser.holds(&format!("document.querySelector('article {kind}').currentTime > 0")).await;
        scene.publisher.asked(path, 1).await;
    }
    let is_there = "document.activeElement.shadowRoot?.activeElement?.matches('a[data-player]')";
    browser.tab_until(is_there).await;
    browser.press_key(Key::Enter).await;
    browser.holds(&in_entry("iframe")).await;
}

/// What is read below them stays where it is when they come.
#[tokio::test(flavor = "multi_thread")]
async fn u1_pictures_and_films_have_their_room_before_they_come() {
    let scene = Scene::start(Store::Sqlite).await;
    let feed = follow_with_files(&scene, &[("/picture.png", "image/png"), ("/film.mp4", "video/mp4")]).await;
    let entries = scene.get(&format!("/api/entries?feedId={feed}&content=false")).await;
    let entry = format!("/entry/{}?in=/feed/{feed}", entries["entries"][0]["id"]);
    let picture = include_bytes!("../../../../web/assets/icon-512.png");
    scene.publisher.set("/film.mp4", Page::body(sound()).header("Content-Type", "audio/wav"));
    with_browser("room", DESK, async |browser| {
        // As the script shows it, and as the server writes it.
        for path in [format!("/feed/{feed}"), entry.clone()] {
            let gate = Gate::default();
            let held_back = Page::body(picture).header("Content-Type", "image/png").header("Cache-Control", "no-store");
            scene.publisher.set("/picture.png", held_back.behind(&gate));
            scene.open(browser, &path).await;
            if path != entry {
                browser.click(".row a").await;
            }
            browser.find("article .files img").await;
            let height = async || browser.run("return document.querySelector('article .files').offsetHeight").await;
            let before = height().await;
            gate.open();
            browser.holds("document.querySelector('article .files img').naturalWidth > 0").await;
            // Without a sound, nobody has to have pressed anything before.
            let play = "const film = document.querySelector('article video'); film.muted = true; film.play()";
            browser.run(play).await;
            browser.holds("document.querySelector('article video').currentTime > 0").await;
            assert_eq!(height().await, before, "{path}");
        }
        browser.assert_no_complaints().await;
    })
    .await;
}
