//! Open files: whether a server may have as many as it may need.

use super::Finding;
use crate::{open_files, settings::Settings};

/// What is open besides connections: the database, the log, names that are being resolved.
const OTHERS: usize = 128;

/// Whether a server that is started here, as this was, may have enough. Where it may there is nothing to say.
pub(super) fn judge(settings: &Settings) -> Option<Finding> {
    let clients = web::ServeLimits::default().connections_max;
    let needed =
        clients + settings.poll_concurrency + settings.delivery.concurrency + settings.database_connections + OTHERS;
    finding(open_files::most(), needed as u64)
}

fn finding(most: Option<u64>, needed: u64) -> Option<Finding> {
    let most = most.filter(|most| *most < needed)?;
    let advice = "raise the hard limit (`ulimit -Hn`, or LimitNOFILE of its service)";
    Some(Finding::noted(
        "files",
        format!("a server may open {most} files and connections here, and a busy one needs {needed}: {advice}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_u8_low_file_limit_is_noted() {
        assert!(finding(None, 1200).is_none() && finding(Some(1200), 1200).is_none());
        let low = finding(Some(1199), 1200).map(|finding| finding.says);
        assert!(low.is_some_and(|says| says.contains("may open 1199") && says.contains("needs 1200")));
    }
}
