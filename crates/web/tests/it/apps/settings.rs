//! The page's settings: the address that an app is told, and a token for it.

use super::{Reader, with_form};
use crate::server::answer;

#[tokio::test]
async fn s1_settings_show_the_address_and_make_a_token() {
    for reader in Reader::each().await {
        let request = |method: &str| {
            let request = reader.server.request(method, "/settings").header("cookie", &reader.cookie);
            request.header("origin", &reader.server.url).header("accept", "text/html")
        };
        let page = answer(request("GET")).await;
        assert_eq!(page.status, 200);
        for path in ["/api/greader.php", "/fever/", ""] {
            let address = format!("<code>{}{path}</code>", reader.server.url);
            assert!(page.text.contains(&address), "{address}");
        }
        assert!(page.text.contains("value=\"Google Reader app\""));
        let form = [("name", "Google Reader app"), ("scope", "write"), ("do", "token")];
        let made = answer(with_form(request("POST"), &form)).await;
        let at = made.text.find("pir_").expect("the token is shown once");
        let token = &made.text[at..at + 47];
        super::greader::App::log_in(&reader, "/api/greader.php", token).await.json("subscription/list", &[]).await;
    }
}
