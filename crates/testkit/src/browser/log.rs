//! What the browser has to say about a page.

use serde_json::Value;

/// Lines of the browser's log.
#[derive(Debug)]
pub struct Log(Vec<(String, String)>);

impl Log {
    /// From chromedriver's answer.
    pub(super) fn read(answer: &Value) -> Self {
        let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let lines = answer.as_array().into_iter().flatten();
        Self(lines.map(|line| (text(line, "source"), text(line, "message"))).collect())
    }

    /// Violations of the Content-Security-Policy, and scripts that failed. That an answer was an error is none: tests ask
    /// for some.
    pub fn complaints(self) -> Vec<String> {
        let is_complaint = |source: &str, message: &str| {
            matches!(source, "security" | "javascript" | "violation" | "worker")
                || message.contains("Content Security Policy")
                || message.contains("Uncaught")
        };
        self.0
            .into_iter()
            .filter(|(source, message)| is_complaint(source, message))
            .map(|(_, message)| message)
            .collect()
    }
}

/// The URLs of all requests in chromedriver's log of what the developer tools are told.
pub(super) fn requests(answer: &Value) -> Vec<String> {
    let url = |line: &Value| {
        let told: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
        let message = &told["message"];
        let is_request = message["method"] == "Network.requestWillBeSent";
        is_request.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
    };
    answer.as_array().into_iter().flatten().filter_map(url).collect()
}
