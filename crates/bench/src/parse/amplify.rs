//! Thirty kilobytes that become a hundred megabytes where HTML is sanitised by way of a tree: a thousand elements left
//! open, which every one of four thousand paragraphs opens again.

use crate::{
    child::{self, Job, Measured},
    report::{Rating, Table, mib},
};

pub(super) fn measure() -> anyhow::Result<Table> {
    let html = document();
    let document_bytes = html.len();
    let title = format!("sanitise: {document_bytes} bytes of <font> left open before 4,000 <p>");
    let mut table = Table::new(title, &["sanitiser", "bytes out", "CPU ms", "memory added, MiB"]);
    for (name, job) in [("ours", Job::Sanitise { document_bytes }), ("ammonia", Job::Ammonia { document_bytes })] {
        match child::run(job, html.as_bytes())? {
            Ok(Measured { cpu_secs, peak_bytes, start_bytes, html_bytes, .. }) => table.row(
                &[
                    name.to_owned(),
                    html_bytes.to_string(),
                    format!("{:.2}", cpu_secs * 1e3),
                    format!("{:.1}", mib(peak_bytes - start_bytes)),
                ],
                Rating::None,
                "",
            ),
            Err(end) => table.row(&[name.to_owned()], Rating::None, end),
        }
    }
    Ok(table)
}

fn document() -> String {
    let fonts: String = (0..1000).map(|size| format!("<font size={size}>")).collect();
    format!("<p>{fonts}{}", "<p>x".repeat(4000))
}
