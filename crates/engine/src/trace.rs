//! Spans of traces, as the engine takes them. Where nobody records them, there are none, and nothing is made.

use std::sync::Arc;

use domain::{
    ports::Ids,
    trace::{Span, SpanKind, SpanValue, TraceContext, Tracer},
};
use jiff::Timestamp;

/// A span that has begun. One that is dropped was none.
#[derive(Debug)]
pub(crate) struct OpenSpan {
    tracer: Arc<dyn Tracer>,
    span: Span,
}

impl OpenSpan {
    /// Begins a span after this one, if spans are recorded.
    pub(crate) fn begin(
        tracer: Option<&Arc<dyn Tracer>>,
        (name, kind): (&'static str, SpanKind),
        parent: Option<TraceContext>,
        ids: &dyn Ids,
        now: Timestamp,
    ) -> Option<Self> {
        let tracer = Arc::clone(tracer?);
        let context = TraceContext::begin(parent, ids);
        let span =
            Span { name, kind, context, parent, begun_at: now, ended_at: now, attributes: Vec::new(), error: None };
        Some(Self { tracer, span })
    }

    pub(crate) fn context(&self) -> TraceContext {
        self.span.context
    }

    pub(crate) fn number(&mut self, name: &'static str, value: i64) {
        self.span.attributes.push((name, SpanValue::Number(value)));
    }

    pub(crate) fn text(&mut self, name: &'static str, value: &str) {
        self.span.attributes.push((name, SpanValue::Text(value.to_owned())));
    }

    pub(crate) fn end(mut self, now: Timestamp, error: Option<String>) {
        (self.span.ended_at, self.span.error) = (now, error);
        self.tracer.record(self.span);
    }
}
