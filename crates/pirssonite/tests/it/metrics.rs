//! What a server that has done nothing yet shows to Prometheus.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::server::{Data, Server};

/// Where metrics are named.
const SOURCES: [&str; 2] = ["engine/src", "web/src"];

/// What their names begin with.
const PREFIXES: [&str; 2] = ["pirssonite_", "http_request"];

/// How long the loops that set gauges may take to begin.
const BEGIN_MAX: Duration = Duration::from_mins(3);

#[tokio::test(flavor = "multi_thread")]
async fn u6_a_fresh_server_shows_every_metric() {
    let names = named_in_sources();
    assert!(names.len() > 20, "{names:?}");
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Data::Folder(folder.path()), &[]);
    let shown = async || server.get("/metrics").await.as_str().unwrap().to_owned();
    let is_missing = |text: &str, name: &str| !text.contains(&format!("# TYPE {name} "));
    let all_are_there = async {
        loop {
            let text = shown().await;
            if names.iter().all(|name| !is_missing(&text, name)) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let Ok(text) = tokio::time::timeout(BEGIN_MAX, all_are_there).await else {
        let text = shown().await;
        panic!("missing: {:?}", names.iter().filter(|name| is_missing(&text, name)).collect::<Vec<_>>());
    };
    assert_eq!(without_help(&text), Vec::<&str>::new());
    let on_dashboard = names_on_dashboard();
    assert!(on_dashboard.len() > 30, "{on_dashboard:?}");
    let is_family = |name: &String| !is_missing(&text, name);
    assert_eq!(on_dashboard.iter().filter(|name| !is_family(name)).collect::<Vec<_>>(), Vec::<&String>::new());
    // And all that is shown is on it, so that nothing new is forgotten.
    let forgotten: Vec<_> = families(&text).filter(|name| !on_dashboard.contains(*name)).collect();
    assert_eq!(forgotten, Vec::<&str>::new());
    // With all values of their labels.
    for line in [
        r#"pirssonite_polls_total{outcome="failed"} 0"#,
        r#"pirssonite_pushes_total{outcome="too_large"} 0"#,
        r#"pirssonite_hub_verifications_total{mode="denied",outcome="not_wanted"} 0"#,
        r#"pirssonite_subscription_changes_total{to="gone"} 0"#,
        r#"pirssonite_delivery_attempts_total{outcome="gone"} 0"#,
        "pirssonite_delivery_leases_lost_total 0",
        "pirssonite_feeds 0",
        r#"pirssonite_subscriptions{state="active"} 0"#,
        r#"pirssonite_store_duration_seconds_count{operation="push"} 0"#,
        "pirssonite_delivery_latency_seconds_count 0",
        r#"http_requests_total{method="POST",path="/api/feeds",status="502"} 0"#,
        r#"http_request_duration_seconds_count{method="DELETE",path="/api/feeds/{id}"} 0"#,
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
    }
}

/// The names of all families that are shown.
fn families(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
}

fn without_help(text: &str) -> Vec<&str> {
    families(text).filter(|name| !text.contains(&format!("# HELP {name} "))).collect()
}

/// The names of all metrics in the dashboard for Grafana, histograms by their family.
fn names_on_dashboard() -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana/pirssonite.json");
    let dashboard: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let expressions = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let words = |expression: String| -> Vec<String> {
        let words = expression.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'));
        words.filter_map(metric_name).map(|name| name.trim_end_matches("_bucket").to_owned()).collect()
    };
    expressions.flat_map(words).collect()
}

/// The names of all metrics, as they are written in the sources.
fn named_in_sources() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let files = SOURCES.iter().flat_map(|folder| rust_files(&crates.join(folder)));
    let texts = files.map(|file| fs::read_to_string(file).unwrap());
    texts.flat_map(|text| text.split('"').filter_map(metric_name).collect::<Vec<_>>()).collect()
}

fn metric_name(text: &str) -> Option<String> {
    let is_name = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    (is_name && PREFIXES.iter().any(|prefix| text.starts_with(prefix))).then(|| text.to_owned())
}

pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let rust = files.into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    rust.chain(folders.iter().flat_map(|folder| rust_files(folder))).collect()
}
