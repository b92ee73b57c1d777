//! Steps of traces in the JSON form of OTLP.

use domain::trace::{Span, SpanKind, SpanValue};
use serde_json::{Value, json};

use super::nanos;

pub(super) fn to_otlp(span: &Span) -> Value {
    let kind = match span.kind {
        SpanKind::Server => 2,
        SpanKind::Client => 3,
    };
    let mut json = json!({
        "traceId": format!("{:032x}", span.context.trace_id),
        "spanId": format!("{:016x}", span.context.span_id),
        "flags": 1,
        "name": span.name,
        "kind": kind,
        "startTimeUnixNano": nanos(span.begun_at),
        "endTimeUnixNano": nanos(span.ended_at),
        "attributes": span.attributes.iter().map(|(key, value)| attribute(key, value)).collect::<Vec<_>>(),
        "status": match &span.error {
            Some(error) => json!({ "code": 2, "message": error }),
            None => json!({}),
        },
    });
    if let Some(parent) = span.parent {
        json["parentSpanId"] = format!("{:016x}", parent.span_id).into();
    }
    json
}

fn attribute(key: &str, value: &SpanValue) -> Value {
    let value = match value {
        // As a text: JSON's numbers are not exact beyond 2^53.
        SpanValue::Number(number) => json!({ "intValue": number.to_string() }),
        SpanValue::Text(text) => json!({ "stringValue": text }),
    };
    json!({ "key": key, "value": value })
}

#[cfg(test)]
mod tests {
    use domain::trace::TraceContext;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn p5_spans_are_written_as_otlp_says() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let span = Span {
            name: "push",
            kind: SpanKind::Server,
            context: TraceContext { trace_id: 0xabc, span_id: 0xd },
            parent: Some(TraceContext { trace_id: 0xabc, span_id: 0xe }),
            begun_at: at(1),
            ended_at: at(2),
            attributes: vec![("n", SpanValue::Number(3)), ("t", SpanValue::Text("x".to_owned()))],
            error: Some("why".to_owned()),
        };
        let expect = json!({
            "traceId": "00000000000000000000000000000abc",
            "spanId": "000000000000000d",
            "flags": 1,
            "name": "push",
            "kind": 2,
            "startTimeUnixNano": "1000000000",
            "endTimeUnixNano": "2000000000",
            "attributes": [
                { "key": "n", "value": { "intValue": "3" } },
                { "key": "t", "value": { "stringValue": "x" } },
            ],
            "status": { "code": 2, "message": "why" },
            "parentSpanId": "000000000000000e",
        });
        assert_eq!(to_otlp(&span), expect);
    }
}
