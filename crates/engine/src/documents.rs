//! A document's way through the CPU pool: parsed, searched for hubs, and made ready for the store. What decides is in
//! `ingest`.

use std::sync::Arc;

use domain::ingest::{Document, KnownEntries, PushDiscovery, Validators};

use crate::{
    context::Context,
    fetch,
    ingest::{self, Parsed},
};

/// What a document says about push, and what a subscription is made with, should that lead to one.
pub(crate) fn found(context: &Context, document: &fetch::Document, parsed: &Parsed) -> PushDiscovery {
    let settings = &context.settings().push;
    PushDiscovery {
        discovery: document.discovery(&parsed.feed.head, &settings.known_hubs),
        offer: context.offer(),
        push_may_take: settings.push_may_take,
    }
}

/// Parses a document; returns its size as well, which says where to go on working on it.
pub(crate) async fn parse(context: &Context, document: Arc<fetch::Document>) -> Result<(Parsed, usize), feed::Error> {
    let bytes = document.body.len();
    let bytes_max = context.settings().document_bytes_max;
    let work = move || feed::parse(&document.body, &document.hints(bytes_max)).map(Parsed::new);
    Ok((context.cpu.run(bytes, work).await?, bytes))
}

/// Sanitises what is new or changed.
pub(crate) async fn prepare(
    context: &Context,
    parsed: Parsed,
    bytes: usize,
    known: KnownEntries,
    validators: Validators,
) -> Document {
    context.cpu.run(bytes, move || ingest::document(parsed, &known, validators)).await
}
