//! The description of the API, made from the routes themselves and kept in memory.

use std::sync::LazyLock;

use bytes::Bytes;
use utoipa::{
    OpenApi as _,
    openapi::{
        Components, ContentBuilder, Deprecated, OpenApi, PathItem, Ref, RefOr, ResponseBuilder, path::Operation,
    },
};

use crate::{
    error::ErrorBody,
    routes::{self, outbox::OLD_PATHS},
};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "piRSSonite",
        description = "Reads feeds and hands every new entry on. JSON is camelCase, times are RFC 3339 in UTC, and \
                       every error is `{\"error\": \"a sentence\"}` with the right status."
    ),
    components(schemas(ErrorBody))
)]
struct Description;

/// What stands in patterns for the key of an installation.
const INSTALLATION: &str = "INSTALLATION";

/// What every such key looks like.
const ANY_INSTALLATION: &str = "[0-9a-f]{12}";

/// The description of the API as JSON, of any installation.
pub fn openapi_json() -> Bytes {
    openapi_of(ANY_INSTALLATION)
}

/// The same of one installation: a cursor of another is refused, and the description says so.
pub(crate) fn openapi_of(installation: &str) -> Bytes {
    static DOCUMENT: LazyLock<String> =
        LazyLock::new(|| document().to_pretty_json().expect("a description made of strings and maps has a JSON form"));
    Bytes::from(DOCUMENT.replace(INSTALLATION, installation))
}

/// Every operation: its method, its path, and the statuses of its answers.
pub(crate) fn described_statuses() -> Vec<(&'static str, String, Vec<String>)> {
    let is_status = |key: &&String| key.parse::<u16>().is_ok();
    let described = document().paths.paths.into_iter().flat_map(|(path, item)| {
        let operations = [("GET", item.get), ("POST", item.post), ("PATCH", item.patch), ("DELETE", item.delete)];
        operations.into_iter().filter_map(move |(method, operation)| {
            let statuses = operation?.responses.responses.keys().filter(is_status).cloned().collect();
            Some((method, path.clone(), statuses))
        })
    });
    described.collect()
}

/// What is described beside the routes.
pub(crate) fn base() -> OpenApi {
    Description::openapi()
}

fn document() -> OpenApi {
    let mut document = routes::described(std::time::Duration::MAX, std::time::Duration::MAX).into_openapi();
    let error = ContentBuilder::new().schema(Some(Ref::from_schema_name("Error"))).build();
    let response = ResponseBuilder::new()
        .description("Any error: what is wrong, as a sentence.")
        .content("application/json", error)
        .build();
    document.components.get_or_insert_with(Components::new).responses.insert("Error".to_owned(), response.into());
    add_old_paths(&mut document);
    document.paths.paths.values_mut().flat_map(operations).for_each(add_error);
    document
}

/// Describes the old paths as the new ones are, but deprecated, and with other ids of their operations.
fn add_old_paths(document: &mut OpenApi) {
    for (old, new) in OLD_PATHS {
        let Some(mut item) = document.paths.paths.get(new).cloned() else { continue };
        for operation in operations(&mut item) {
            operation.deprecated = Some(Deprecated::True);
            operation.operation_id = operation.operation_id.take().map(|id| format!("{id}AtOldPath"));
        }
        document.paths.paths.insert(old.to_owned(), item);
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.patch, &mut item.delete].into_iter().flatten()
}

/// Every operation can end with an error, and all have the same shape.
fn add_error(operation: &mut Operation) {
    let error = RefOr::Ref(Ref::from_response_name("Error"));
    operation.responses.responses.insert("default".to_owned(), error);
}
