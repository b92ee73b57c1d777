//! What `/metrics` shows, in the JSON form of OTLP: so both say the same.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::nanos;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;

/// Labels of a sample, in order.
type Labels = Vec<(String, String)>;

/// A histogram with these labels, as it is gathered: upper bounds with counts, the sum, the count.
#[derive(Debug, Default)]
struct Histogram {
    buckets: Vec<(f64, u64)>,
    sum: f64,
    count: u64,
}

/// All metrics of a text in the form of Prometheus. What cannot be read is left out.
pub(super) fn to_otlp(text: &str, begun: Timestamp, now: Timestamp) -> Vec<Value> {
    let mut metrics = Vec::new();
    let mut kind = ("", "");
    let mut samples = Vec::new();
    for line in text.lines() {
        if let Some(of_type) = line.strip_prefix("# TYPE ") {
            metrics.extend(metric(kind, &std::mem::take(&mut samples), begun, now));
            kind = of_type.split_once(' ').unwrap_or_default();
        } else if !line.starts_with('#') {
            samples.extend(sample(line));
        }
    }
    metrics.extend(metric(kind, &samples, begun, now));
    metrics
}

struct Sample {
    name: String,
    labels: Labels,
    value: f64,
}

fn sample(line: &str) -> Option<Sample> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, labels_of(labels.strip_suffix('}')?)?),
        None => (series, Labels::new()),
    };
    Some(Sample { name: name.to_owned(), labels, value: value.parse().ok()? })
}

/// `name="value",...`, with backslashes before quotes, backslashes and ends of lines.
fn labels_of(text: &str) -> Option<Labels> {
    let (mut labels, mut rest) = (Labels::new(), text);
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (at, '"') => break at,
                (_, other) => value.push(other),
            }
        };
        labels.push((name.to_owned(), value));
        rest = after[end + 1..].trim_start_matches(',');
    }
    Some(labels)
}

fn metric((name, kind): (&str, &str), samples: &[Sample], begun: Timestamp, now: Timestamp) -> Option<Value> {
    if samples.is_empty() {
        return None;
    }
    let point = |sample: &Sample| {
        json!({
            "attributes": attributes(&sample.labels),
            "startTimeUnixNano": nanos(begun),
            "timeUnixNano": nanos(now),
            "asDouble": sample.value,
        })
    };
    let points: Vec<Value> = samples.iter().map(point).collect();
    match kind {
        "counter" => Some(json!({
            "name": name,
            "sum": { "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true },
        })),
        "gauge" => Some(json!({ "name": name, "gauge": { "dataPoints": points } })),
        "histogram" => {
            let points: Vec<Value> =
                histograms(name, samples).iter().map(|one| histogram_point(one, begun, now)).collect();
            Some(json!({
                "name": name,
                "histogram": { "dataPoints": points, "aggregationTemporality": CUMULATIVE },
            }))
        }
        _ => None,
    }
}

fn histograms(name: &str, samples: &[Sample]) -> Vec<(Labels, Histogram)> {
    let mut found: BTreeMap<Labels, Histogram> = BTreeMap::new();
    for Sample { name: series, labels, value } in samples {
        let mut labels = labels.clone();
        let bound = labels.iter().position(|(name, _)| name == "le").map(|at| labels.remove(at).1);
        let histogram = found.entry(labels).or_default();
        match series.strip_prefix(name) {
            Some("_sum") => histogram.sum = *value,
            Some("_count") => histogram.count = to_count(*value),
            Some("_bucket") => {
                let bound = bound.and_then(|bound| bound.parse::<f64>().ok()).filter(|bound| bound.is_finite());
                histogram.buckets.extend(bound.map(|bound| (bound, to_count(*value))));
            }
            _ => {}
        }
    }
    found.into_iter().collect()
}

fn histogram_point((labels, histogram): &(Labels, Histogram), begun: Timestamp, now: Timestamp) -> Value {
    let Histogram { buckets, sum, count } = histogram;
    // Those of Prometheus count all below; those of OTLP only their own.
    let below = std::iter::once(0).chain(buckets.iter().map(|(_, count)| *count));
    let upto = buckets.iter().map(|(_, count)| *count).chain(std::iter::once(*count));
    let counts: Vec<String> = upto.zip(below).map(|(upto, below)| upto.saturating_sub(below).to_string()).collect();
    json!({
        "attributes": attributes(labels),
        "startTimeUnixNano": nanos(begun),
        "timeUnixNano": nanos(now),
        "count": count.to_string(),
        "sum": sum,
        "bucketCounts": counts,
        "explicitBounds": buckets.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(),
    })
}

fn attributes(labels: &Labels) -> Vec<Value> {
    labels.iter().map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } })).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count, written as one")]
fn to_count(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5_metrics_are_written_as_otlp_says() {
        let text = "# HELP a_total Things.\n# TYPE a_total counter\na_total{path=\"/x \\\"y\\\"\"} 3\n\n\
            # TYPE b gauge\nb 1.5\n\n# TYPE c histogram\nc_bucket{m=\"G\",le=\"0.1\"} 2\nc_bucket{m=\"G\",le=\"1\"} 5\n\
            c_bucket{m=\"G\",le=\"+Inf\"} 6\nc_sum{m=\"G\"} 7.5\nc_count{m=\"G\"} 6\n";
        let at = Timestamp::UNIX_EPOCH;
        let metrics = to_otlp(text, at, at);
        assert_eq!(metrics.len(), 3);
        let (a, b, c) = (&metrics[0], &metrics[1], &metrics[2]["histogram"]["dataPoints"][0]);
        assert_eq!(a["name"], "a_total");
        assert_eq!(a["sum"]["dataPoints"][0]["asDouble"], 3.0);
        assert_eq!(a["sum"]["dataPoints"][0]["attributes"][0]["value"]["stringValue"], "/x \"y\"");
        assert_eq!(b["gauge"]["dataPoints"][0]["asDouble"], 1.5);
        assert_eq!((&c["count"], &c["sum"]), (&json!("6"), &json!(7.5)));
        assert_eq!((&c["bucketCounts"], &c["explicitBounds"]), (&json!(["2", "3", "1"]), &json!([0.1, 1.0])));
        assert_eq!(c["attributes"], json!([{ "key": "m", "value": { "stringValue": "G" } }]));
    }
}
