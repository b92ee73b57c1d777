//! The dashboards: readable by everybody, and alive without losing what somebody types.

use reqwest::Method;
use serde_json::json;
use testkit::fresh_postgres;

use crate::{
    axe::assert_accessible,
    browser::{Browser, WIDTHS, with_browser},
    demo,
    server::{Data, Server},
};

/// A URL that refuses every connection.
const NOWHERE: &str = "http://127.0.0.1:9/hook";

#[tokio::test(flavor = "multi_thread")]
async fn u3_dashboards_are_accessible_at_every_width() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = demo::start(temporary.path());
    let url = &demo.reader;
    let url = url.trim_end_matches('/');
    for width in WIDTHS {
        with_browser(&format!("boards-{width}"), width, async |browser| {
            // Until there is something to plot, and a feed that fails.
            for (path, shows) in [
                ("/push", "#plot-pushes svg[role=img]"),
                ("/push?span=day", "meter, .lease"),
                ("/webhooks", "#plot-deliveries svg[role=img]"),
                ("/webhooks?span=week", "#plot-latency svg[role=img]"),
                ("/webhooks/1", "#webhook-deliveries tbody tr"),
                ("/status", "#status-feeds tbody tr"),
                ("/status?span=day", "#plot-polls svg[role=img]"),
            ] {
                browser.open(&format!("{url}{path}")).await;
                browser.find(shows).await;
                browser.ready().await;
                browser.assert_fits().await;
                assert_accessible(browser).await;
            }
            // Tables behind the plots, what is confirmed, and forms, opened.
            for (path, opens) in [
                ("/push", ".confirm[open]"),
                ("/webhooks", "details.form[open]"),
                ("/webhooks/1", ".confirm[open]"),
                ("/status?span=day", ".plot details[open]"),
            ] {
                browser.open(&format!("{url}{path}")).await;
                browser.ready().await;
                browser.run("document.querySelectorAll('details').forEach(one => one.open = true)").await;
                browser.find(opens).await;
                browser.assert_fits().await;
                assert_accessible(browser).await;
            }
            browser.open(&format!("{url}/webhooks/1")).await;
            browser.click("#webhook-deliveries tbody a").await;
            browser.find("#delivery-attempts").await;
            browser.assert_fits().await;
            assert_accessible(browser).await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_u3_figures_change_by_themselves_and_typing_goes_on() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = fresh_postgres().await;
    for data in [Data::Folder(folder.path()), Data::Database(database.url(), other.path())] {
        let server = Server::start(data, &["--retry-first", "1h"]);
        with_browser("boards-live", 1400, async |browser| live(browser, &server).await).await;
    }
}

async fn live(browser: &Browser, server: &Server) {
    let (_, webhook) = server.call(Method::POST, "/api/webhooks", Some(json!({ "url": NOWHERE }))).await;
    browser.open(&format!("{}/webhooks", server.url)).await;
    browser.says("#plot-deliveries", "Nothing in this time.").await;
    browser.click("details.form > summary").await;
    browser.click("input[name=description]").await;
    browser.press("half a sen").await;
    let path = format!("/api/webhooks/{}/test", webhook["id"]);
    assert_eq!(server.call(Method::POST, &path, None).await.0, 202);
    browser.says("#webhooks-figures", "Backlog\n1").await;
    // The attempt fails at once: it is in the plot, after another event or another minute.
    server.get("/api/outbox/overview").await;
    browser
        .wait("the attempt", async || {
            let figures = server.get("/api/stats?metric=deliveries").await;
            let points = figures["points"].as_array()?;
            points.iter().any(|point| point["counts"]["retried"] == 1).then_some(())
        })
        .await;
    assert_eq!(server.call(Method::POST, &path, None).await.0, 202);
    browser.says("#plot-deliveries", "retried").await;
    browser.press("tence").await;
    assert_eq!(browser.run("return document.activeElement.value").await, "half a sentence");
    browser.assert_no_complaints().await;
}
