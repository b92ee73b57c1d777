//! What happens: polling, ingesting, adding, importing, pruning.
