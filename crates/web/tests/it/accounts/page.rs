//! The login page.

use reqwest::redirect::Policy;

use super::{Cluster, PASSWORD, cookie_of};
use crate::server::{Answer, answer};

/// Asks as a browser that shows what it is told, and follows nothing.
async fn browse(cluster: &Cluster, method: &str, path: &str, form: Option<&str>) -> Answer {
    let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let mut request = client.request(method.parse().unwrap(), format!("{}{path}", cluster.server.url));
    request = request.header("accept", "text/html").header("origin", &cluster.server.url);
    if let Some(form) = form {
        request = request.header("content-type", "application/x-www-form-urlencoded").body(form.to_owned());
    }
    answer(request).await
}

#[tokio::test]
async fn a4_pages_lead_to_the_login_and_back() {
    for (cluster, _) in Cluster::each_locked().await {
        let asked = browse(&cluster, "GET", "/?x=1", None).await;
        assert_eq!((asked.status, asked.header("location")), (303, "/login?next=%2F%3Fx%3D1"));
        let page = browse(&cluster, "GET", asked.header("location"), None).await;
        assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
        assert!(
            page.text.contains("name=\"next\" value=\"/?x=1\"") && page.text.contains("type=\"password\""),
            "{page:?}"
        );
        let policy = page.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");

        let wrong =
            browse(&cluster, "POST", "/login", Some("name=%3Cann%3E&password=wrong+horse&next=%2F%3Fx%3D1")).await;
        assert_eq!(wrong.status, 401);
        assert!(wrong.text.contains("is wrong") && wrong.text.contains("value=\"&lt;ann&gt;\""), "{wrong:?}");
        assert!(wrong.text.contains("value=\"/?x=1\"") && !wrong.text.contains("wrong horse"), "{wrong:?}");

        let form = format!("name=reader&password={}&next=%2F%3Fx%3D1", PASSWORD.replace(' ', "+"));
        let right = browse(&cluster, "POST", "/login", Some(&form)).await;
        assert_eq!((right.status, right.header("location")), (303, "/?x=1"));
        let cookie = cookie_of(&right);
        let foreign = form.replace("%2F%3Fx%3D1", "%2F%2Fevil.example");
        assert_eq!(browse(&cluster, "POST", "/login", Some(&foreign)).await.header("location"), "/");
        let known = cluster.as_browser(&cookie, "GET", "/").header("accept", "text/html");
        assert_eq!(answer(known).await.status, 200);

        let out = answer(cluster.as_browser(&cookie, "POST", "/logout").header("accept", "text/html")).await;
        assert!(out.text.contains("Log in"), "{out:?}");
        answer(cluster.as_browser(&cookie, "GET", "/api/folders")).await.error(401);
    }
}

#[tokio::test]
async fn a4_the_page_says_to_wait() {
    // Longer than a busy machine takes for one.
    let guess_wait = std::time::Duration::from_mins(5);
    let (cluster, _) = Cluster::locked_with(web::WebSettings { guess_wait, ..web::WebSettings::default() }).await;
    for _ in 0..5 {
        assert_eq!(browse(&cluster, "POST", "/login", Some("name=ann&password=wrong+horse")).await.status, 401);
    }
    let slowed = browse(&cluster, "POST", "/login", Some("name=ann&password=wrong+horse")).await;
    assert_eq!(slowed.status, 429);
    assert!((1..=300).contains(&slowed.header("retry-after").parse::<u64>().unwrap()), "{slowed:?}");
    assert!(slowed.text.contains("Try again in ") && slowed.text.contains("value=\"ann\""), "{slowed:?}");
}

#[tokio::test]
async fn a3_the_page_of_a_fresh_server_says_how_to_set_a_password() {
    let cluster = Cluster::start().await;
    assert_eq!(browse(&cluster, "GET", "/login", None).await.header("location"), "/", "it is let in");
    let proxied = cluster.server.request("GET", "/login").header("x-forwarded-for", "203.0.113.9");
    let page = answer(proxied).await;
    assert!(page.text.contains("pirssonite account password"), "{page:?}");
    assert!(page.text.contains("PIRSSONITE_PASSWORD_FILE"), "{page:?}");
}

#[tokio::test]
async fn a3_whoever_sets_the_first_password_in_the_page_stays() {
    for cluster in Cluster::each().await {
        let form = format!("do=password&newPassword={0}&again={0}", PASSWORD.replace(' ', "+"));
        let set = browse(&cluster, "POST", "/settings", Some(&form)).await;
        assert_eq!((set.status, set.header("location")), (303, "/settings?done=password"));
        let page = cluster.as_browser(&cookie_of(&set), "GET", "/settings").header("accept", "text/html");
        let page = answer(page).await;
        assert!(page.status == 200 && page.text.contains("this one"), "{page:?}");
        assert_eq!(browse(&cluster, "GET", "/settings", None).await.status, 303, "nobody else is let in");
        // A later one is no login: the session that asks is kept.
        let again = format!("{form}&password={}", PASSWORD.replace(' ', "+"));
        let request = cluster.as_browser(&cookie_of(&set), "POST", "/settings").header("accept", "text/html");
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(again);
        let changed = answer(request).await;
        assert!(!changed.text.contains("did not work"), "{changed:?}");
        assert_eq!(
            cluster.store.sessions(domain::account::READER, domain::account::SESSION_LIFETIME).await.unwrap().len(),
            1
        );
    }
}

#[tokio::test]
async fn a3_what_the_page_is_made_of_needs_no_login() {
    for (cluster, _) in Cluster::each_locked().await {
        for (path, kind) in
            [("/assets/login.css", "text/css"), ("/assets/icon.svg", "image/svg+xml"), ("/robots.txt", "text/plain")]
        {
            let asset = cluster.server.get(path).await;
            assert!(asset.status == 200 && asset.header("content-type").starts_with(kind), "{asset:?}");
        }
    }
}
