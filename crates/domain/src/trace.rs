//! Traces: which span belongs to which, across nodes. A push or a poll begins one, its events carry it, and every attempt
//! to deliver them is a span of it. Nothing of this is done unless somebody records it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ports::Ids;

/// A span of a trace, as W3C Trace Context names it: `00-<trace>-<span>-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceContext {
    pub trace_id: u128,
    pub span_id: u64,
}

impl TraceContext {
    /// A new span: of this trace, or of a new one.
    pub fn begin(parent: Option<Self>, ids: &dyn Ids) -> Self {
        let mut bytes = [0; 24];
        ids.fill(&mut bytes);
        let (trace, span) = bytes.split_at(16);
        let span = span.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let trace = trace.iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
        // Zero means none.
        Self { trace_id: parent.map_or(trace.max(1), |parent| parent.trace_id), span_id: span.max(1) }
    }

    /// Reads a `traceparent`. One that says nothing we know is none: whoever sent it gets a trace of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str, length| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        if !is_hex(version, 2) || version == "ff" || (version == "00" && parts.next().is_some()) || !is_hex(flags, 2) {
            return None;
        }
        if !is_hex(trace, 32) || !is_hex(span, 16) {
            return None;
        }
        let (trace_id, span_id) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(span, 16).ok()?);
        (trace_id != 0 && span_id != 0).then_some(Self { trace_id, span_id })
    }
}

impl std::fmt::Display for TraceContext {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "00-{:032x}-{:016x}-01", self.trace_id, self.span_id)
    }
}

impl From<TraceContext> for String {
    fn from(context: TraceContext) -> Self {
        context.to_string()
    }
}

impl TryFrom<String> for TraceContext {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("no traceparent")
    }
}

/// What a span is to those around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Somebody asked us.
    Server,
    /// We asked somebody.
    Client,
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub name: &'static str,
    pub kind: SpanKind,
    pub context: TraceContext,
    /// The span that led to it.
    pub parent: Option<TraceContext>,
    pub begun_at: Timestamp,
    pub ended_at: Timestamp,
    /// What is known of it. Never a text of a feed or a secret.
    pub attributes: Vec<(&'static str, SpanValue)>,
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanValue {
    Number(i64),
    Text(String),
}

/// Takes spans that have ended. It must not wait: what it has no place for is dropped.
pub trait Tracer: Send + Sync + std::fmt::Debug {
    fn record(&self, span: Span);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Nothing;

    impl Ids for Nothing {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    #[test]
    fn p5_traceparents_are_read_as_the_standard_says() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = TraceContext::parse(good).unwrap();
        assert_eq!(context.to_string(), good);
        assert_eq!(TraceContext::parse("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-more"), Some(context));
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn p5_spans_stay_in_their_trace_and_are_never_zero() {
        let first = TraceContext::begin(None, &Nothing);
        assert!(first.trace_id != 0 && first.span_id != 0);
        let parent = TraceContext { trace_id: 7, span_id: 8 };
        assert_eq!(TraceContext::begin(Some(parent), &Nothing).trace_id, 7);
    }
}
