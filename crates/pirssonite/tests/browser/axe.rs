//! What axe finds wrong with a page: what keeps people out who cannot see it, or have no mouse (WCAG 2.2 AA).

use std::{fs, path::Path};

use serde_json::Value;

use crate::browser::{Browser, SCHEMES, Scheme};

/// Where `scripts/with-browser` puts it: it is another's work, and not in this tree.
const FILE: &str = "axe-core/axe.min.js";

/// That axe finds nothing in the page, light and dark.
pub(crate) async fn assert_accessible(browser: &Browser) {
    for scheme in SCHEMES {
        browser.prefer(scheme).await;
        hold_still(browser, true).await;
        let found = findings(browser).await;
        hold_still(browser, false).await;
        assert!(found.is_empty(), "{scheme:?}: {found:#?}");
    }
    browser.prefer(Scheme::Light).await;
}

/// Lets a dashboard believe that nobody sees it: what is replaced while axe looks at it has no colours.
async fn hold_still(browser: &Browser, is_still: bool) {
    let script = "Object.defineProperty(document, 'hidden', { get: () => IS_STILL, configurable: true })";
    browser.run(&script.replace("IS_STILL", &is_still.to_string())).await;
}

/// What it finds, a line each.
async fn findings(browser: &Browser) -> Vec<String> {
    if browser.run("return typeof axe").await == "undefined" {
        browser.run(&source()).await;
    }
    // It would read the styles of shadow roots by making some of its own, which the pages forbid. And of WCAG 2.2 AA it leaves
    // out how large targets are, unless told otherwise.
    let run = "axe.run(document, { preload: false, resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })\
               .then(found => arguments[0](found.violations), error => arguments[0]([{ id: String(error), nodes: [] }]))";
    let violations = browser.run_async(run).await;
    violations.as_array().expect("axe lists what it finds").iter().map(line).collect()
}

fn line(violation: &Value) -> String {
    let nodes: Vec<String> =
        violation["nodes"].as_array().into_iter().flatten().map(|node| node["html"].to_string()).collect();
    format!("{}: {} {nodes:?}", violation["id"], violation["help"])
}

fn source() -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(FILE);
    fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("axe is not in {}: run `scripts/with-browser true`: {error}", file.display()))
}
