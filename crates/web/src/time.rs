//! Times as clients write them.

use jiff::{Timestamp, fmt::temporal::Pieces};

use crate::error::{ApiError, ApiResult};

/// A time as RFC 3339 writes it; a bad one names its field.
pub(crate) fn time(field: &str, text: &str) -> ApiResult<Timestamp> {
    // The last day of the year 9999 is beyond what can be reckoned with, and stands for the end of time.
    let is_at_the_end = |text: &str| {
        Pieces::parse(text).is_ok_and(|pieces| pieces.date().year() == 9999 && pieces.to_numeric_offset().is_some())
    };
    match text.parse() {
        Ok(time) => Ok(time),
        Err(_) if is_at_the_end(text) => Ok(Timestamp::MAX),
        Err(_) => Err(ApiError::field(field, "expected a time with its zone, such as 2024-01-31T12:00:00Z")),
    }
}
