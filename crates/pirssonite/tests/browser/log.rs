//! What the browser has to say about a page.

use serde_json::Value;

/// Lines of the browser's log.
#[derive(Debug)]
pub(crate) struct Log(Vec<(String, String)>);

impl Log {
    /// From chromedriver's answer.
    pub(crate) fn read(answer: &Value) -> Self {
        let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let lines = answer.as_array().into_iter().flatten();
        Self(lines.map(|line| (text(line, "source"), text(line, "message"))).collect())
    }

    /// Violations of the Content-Security-Policy, and scripts that failed. That an answer was an error is none: tests ask
    /// for some.
    pub(crate) fn complaints(self) -> Vec<String> {
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
