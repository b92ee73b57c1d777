//! The page's settings: the address that an app is told, and a token for it.

use reqwest::RequestBuilder;

use super::{
    Reader,
    filled::{fever_key, form},
    greader::App,
    with_form,
};
use crate::server::answer;

fn request(reader: &Reader, method: &str) -> RequestBuilder {
    let request = reader.server.request(method, "/settings").header("cookie", &reader.cookie);
    request.header("origin", &reader.server.url).header("accept", "text/html")
}

/// The token that the button of an interface makes.
async fn token_for(reader: &Reader, interface: &str) -> String {
    let name = format!("{interface} app");
    let pressed = [("name", name.as_str()), ("scope", "write"), ("do", "token")];
    let made = answer(with_form(request(reader, "POST"), &pressed)).await;
    let is_token = |text: &&str| domain::account::token_hash(text).is_some();
    let mut words = made.text.split(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)));
    words.find(is_token).expect("the token is shown once").to_owned()
}

#[tokio::test]
async fn s1_s2_s3_settings_show_each_address_and_make_a_token_for_it() {
    for reader in Reader::each().await {
        let page = answer(request(&reader, "GET")).await;
        assert_eq!(page.status, 200);
        for (interface, path) in [("Google Reader", "/api/greader.php"), ("Fever", "/fever/"), ("Miniflux", "")] {
            let address = format!("<code>{}{path}</code>", reader.server.url);
            assert!(page.text.contains(&address), "{address}");
            assert!(page.text.contains(&format!("value=\"{interface} app\"")), "{interface}");
        }
        let token = token_for(&reader, "Google Reader").await;
        App::log_in(&reader, "/api/greader.php", &token).await.json("subscription/list", &[]).await;
        let key = fever_key("reader", &token_for(&reader, "Fever").await);
        let fever = form(reader.server.request("POST", "/fever/?api"), &format!("api_key={key}"));
        assert_eq!(answer(fever).await.ok(200)["auth"], 1);
        let token = token_for(&reader, "Miniflux").await;
        let me = reader.server.request("GET", "/v1/me").header("x-auth-token", token);
        assert_eq!(answer(me).await.ok(200)["username"], "reader");
    }
}
