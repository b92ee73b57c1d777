//! Sound and films in the page; players of others only when they are asked for.

use reqwest::Method;
use serde_json::json;
use testkit::Page;

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

#[tokio::test(flavor = "multi_thread")]
async fn u1_sound_plays_and_players_wait_for_a_click() {
    let scene = Scene::start(Store::Sqlite).await;
    scene.publisher.set("/sound.wav", Page::body(sound()).header("Content-Type", "audio/wav"));
    let enclosure = format!("<enclosure url='{}' type='audio/wav' length='8044'/>", scene.publisher.url("/sound.wav"));
    let item = format!(
        "<item><guid>1</guid><title>Show</title>{enclosure}<description>{}</description></item>",
        escaped(FRAME)
    );
    let url = scene.publish("Radio", "/radio", &item);
    let feed = scene.call(Method::POST, "/api/feeds", json!({ "url": url })).await["id"].to_string();
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
    let before = scene.publisher.requests("/sound.wav").len();
    // By mouse, as the script shows it.
    scene.open(browser, &format!("/feed/{feed}")).await;
    browser.click(".row a").await;
    browser.find("article audio[controls][preload=none]").await;
    browser.holds(&in_entry("a[data-player]")).await;
    browser.holds(&format!("!{}", in_entry("iframe"))).await;
    browser.click_on(&in_entry("a[data-player]")).await;
    browser.holds(&in_entry("iframe[src^=\"https://www.youtube\"][sandbox]")).await;
    assert_eq!(scene.publisher.requests("/sound.wav").len(), before);
    // By keyboard, as the server writes it.
    browser.reload().await;
    browser.ready().await;
    browser.tab_to("article audio").await;
    browser.press(" ").await;
    browser.holds("document.querySelector('article audio').currentTime > 0").await;
    scene.publisher.asked("/sound.wav", 1).await;
    let is_there = "document.activeElement.shadowRoot?.activeElement?.matches('a[data-player]')";
    browser.tab_until(is_there).await;
    browser.press_key(Key::Enter).await;
    browser.holds(&in_entry("iframe")).await;
}
