//! Schemas of what a user wants of a webhook, where the types do not tell what is taken.

use domain::delivery::EventType;
use utoipa::openapi::{
    ArrayBuilder, ObjectBuilder, Schema,
    schema::{AdditionalProperties, SchemaType, Type},
};

use super::headers::{HEADER_NAME_CHARS_MAX, HEADER_VALUE_CHARS_MAX, HEADERS_MAX};

/// A name as RFC 9110 has it (section 5.6.2).
const NAME_PATTERN: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

/// One line of ASCII.
const VALUE_PATTERN: &str = "^[\\t -~]*$";

/// Kinds of events, or null.
pub(super) fn event_types() -> Schema {
    let kind = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(EventType::ALL.map(EventType::name)));
    let list = ArrayBuilder::new().schema_type(SchemaType::from_iter([Type::Array, Type::Null])).items(kind);
    list.description(Some("Which; null for all.")).build().into()
}

/// Names and values, or null.
pub(super) fn headers() -> Schema {
    let name = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(HEADER_NAME_CHARS_MAX))
        .pattern(Some(NAME_PATTERN));
    let value = ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(HEADER_VALUE_CHARS_MAX))
        .pattern(Some(VALUE_PATTERN));
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Object, Type::Null]))
        .property_names(Some(name.build()))
        .additional_properties(Some(AdditionalProperties::RefOr(value.build().into())))
        .max_properties(Some(HEADERS_MAX))
        .description(Some(
            "Headers to send along, such as `Authorization`; null for none. Names that this server sets itself (such as \
             `Content-Type`, `Host` and `webhook-...`) are refused, and so is more than 4096 bytes in all. Values are \
             secrets: they are shown as `***`, and in a change `***` keeps the stored value of that header.",
        ))
        .build()
        .into()
}
