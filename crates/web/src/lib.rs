//! The JSON API, health and metrics.
