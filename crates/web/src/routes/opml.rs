//! OPML in and out: a whole reader's feeds in one file.

use axum::{
    Json,
    body::Body,
    extract::{FromRequest, Multipart, Request, State, multipart::MultipartError},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use domain::AccountId;
use engine::ImportReport;
use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

use crate::{
    auth::Actor,
    body::{self, MemoryPermit},
    error::{ApiError, ApiResult, ErrorBody},
    extract::{check_not_encoded, content_type},
    state::AppState,
    work::run_to_completion,
};

/// What a form may add around a file of the largest size.
const FORM_BYTES_EXTRA: usize = 64 * 1024;

/// A form with a file.
#[derive(Debug)]
pub(crate) struct ImportForm;

impl ToSchema for ImportForm {}

impl PartialSchema for ImportForm {
    fn schema() -> RefOr<Schema> {
        let name = ObjectBuilder::new().schema_type(Type::String).pattern(Some(FIELD_NAME_PATTERN));
        ObjectBuilder::new()
            .description(Some("A form with a file. Other fields are passed over."))
            .property("file", opml())
            .required("file")
            .property_names(Some(name.build()))
            .build()
            .into()
    }
}

/// The first tag is `opml` or `outline`.
const OPML_PATTERN: &str = concat!(
    r#"^[ \t\r\n]*((<\?xml [ -;=@-~]*\?>|<!--[^<>\u0000-\u001f-]*-->|<!DOCTYPE [A-Za-z]+>)[ \t\r\n]*)*"#,
    r#"<(opml|outline)([ \t\r\n]+[A-Za-z:_-]+=("[^<>"\u0000-\u001f]*"|'[^<>'\u0000-\u001f]*'))*[ \t\r\n]*/?>"#
);

/// What the name of a form's field is made of.
const FIELD_NAME_PATTERN: &str = "^[A-Za-z0-9_.-]+$";

/// A text that begins as OPML does.
fn opml() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(OPML_PATTERN)).build().into()
}

/// An OPML file.
#[derive(Debug)]
pub(crate) struct OpmlFile;

impl ToSchema for OpmlFile {}

impl PartialSchema for OpmlFile {
    fn schema() -> RefOr<Schema> {
        opml().into()
    }
}

/// What became of an OPML file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ImportSummary {
    /// Feeds that are new.
    imported: u32,
    /// Feeds that were there.
    skipped: u32,
    /// Outlines that are no feeds, and values of feeds that were left out.
    errors: Vec<ImportFailure>,
}

/// An outline that is no feed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ImportFailure {
    /// What it gave as its URL.
    url: String,
    /// What is wrong with that.
    error: String,
}

/// All feeds and folders as OPML.
#[utoipa::path(
    get, path = "/api/opml/export", tag = "opml", operation_id = "exportOpml",
    responses((status = 200, description = "The file.", body = String, content_type = "text/x-opml"))
)]
pub(crate) async fn export(State(state): State<AppState>, actor: Actor) -> ApiResult<Response> {
    let headers = [
        (header::CONTENT_TYPE, "text/x-opml; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"pirssonite.opml\""),
    ];
    state.answers.answer(async { Ok((headers, state.engine.export_opml(actor.account).await?).into_response()) }).await
}

/// Takes in the feeds and folders of an OPML file: the body itself, or the field `file` of a form.
#[utoipa::path(
    post, path = "/api/opml/import", tag = "opml", operation_id = "importOpml",
    request_body(content(
        (OpmlFile = "text/x-opml"),
        (ImportForm = "multipart/form-data"),
    )),
    responses(
        (status = 200, description = "What became of it, also if some outlines are no feeds.", body = ImportSummary),
        (status = 400, description = "Not OPML.", body = ErrorBody),
        (status = 408, description = "It did not come in time.", body = ErrorBody),
        (status = 413, description = "Too large.", body = ErrorBody),
        (status = 415, description = "Not a file of text, nor a form.", body = ErrorBody),
    )
)]
pub(crate) async fn import(
    State(state): State<AppState>,
    actor: Actor,
    request: Request,
) -> ApiResult<Json<ImportSummary>> {
    take_in(&state, actor.account, request).await.map(|report| Json(report.into()))
}

/// Takes in the file of a request, for whichever interface.
pub(crate) async fn take_in(state: &AppState, account: AccountId, request: Request) -> ApiResult<ImportReport> {
    // A client that is slow to send holds up nobody: only what has come in waits for a slot.
    let (file, memory) = file(request, state).await?;
    // Never closed, so it cannot fail; and if it were, no limit would be the smaller evil.
    let slot = state.imports.clone().acquire_owned().await;
    let engine = state.engine.clone();
    let work = async move {
        // For as long as the import takes, which is longer than the request of a client that goes away.
        let _held = (slot, memory);
        engine.import_opml(account, &file).await
    };
    Ok(run_to_completion(work).await??)
}

impl From<ImportReport> for ImportSummary {
    fn from(report: ImportReport) -> Self {
        let ImportReport { imported, skipped, errors } = report;
        let errors = errors.into_iter().map(|failed| ImportFailure { url: failed.url, error: failed.error });
        Self { imported, skipped, errors: errors.collect() }
    }
}

/// The OPML file in a request, of whatever kind.
async fn file(request: Request, state: &AppState) -> ApiResult<(Bytes, MemoryPermit)> {
    let (bytes_max, time_max) = (state.settings.opml_bytes_max, state.settings.opml_timeout);
    check_not_encoded(request.headers())?;
    let kind = content_type(request.headers()).unwrap_or_default();
    let (parts, body) = request.into_parts();
    if kind == "multipart/form-data" {
        let form_bytes_max = bytes_max.saturating_add(FORM_BYTES_EXTRA);
        let (form, permit) = body::read_within_budget(&state.opml_memory, body, form_bytes_max, time_max).await?;
        return Ok((file_of_form(&parts.headers, form, bytes_max).await?, permit));
    }
    if !may_be_opml(&kind) {
        return Err(ApiError::UnsupportedMediaType(
            "send OPML, as it is or as the field `file` of a `multipart/form-data` form",
        ));
    }
    body::read_within_budget(&state.opml_memory, body, bytes_max, time_max).await
}

/// Clients name OPML in many ways, and those that only know a file name nothing or what they always do.
fn may_be_opml(kind: &str) -> bool {
    matches!(kind, "" | "application/octet-stream" | "application/xml" | "application/x-www-form-urlencoded")
        || kind.starts_with("text/")
        || kind.ends_with("+xml")
        || kind.ends_with("opml")
}

async fn file_of_form(headers: &HeaderMap, form: Bytes, bytes_max: usize) -> ApiResult<Bytes> {
    let mut request = Request::new(Body::from(form));
    *request.headers_mut() = headers.clone();
    axum::extract::DefaultBodyLimit::apply(axum::extract::DefaultBodyLimit::disable(), &mut request);
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|_| ApiError::BadRequest("the form cannot be read: its `Content-Type` has no boundary".to_owned()))?;
    let mut file = None;
    while let Some(field) = form.next_field().await.map_err(broken_form)? {
        match field.name().unwrap_or_default() {
            "file" if file.is_none() => file = Some(field.bytes().await.map_err(broken_form)?),
            name if is_field_name(name) => {}
            name => {
                return Err(ApiError::field(name, "the name of a field has letters, digits, `_`, `.` and `-` alone"));
            }
        }
    }
    match file {
        Some(file) if file.len() > bytes_max => Err(ApiError::TooLarge(bytes_max)),
        Some(file) => Ok(file),
        None => Err(ApiError::field("file", "the form has no such field")),
    }
}

/// As [`FIELD_NAME_PATTERN`] says.
fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

fn broken_form(_: MultipartError) -> ApiError {
    ApiError::BadRequest("the form cannot be read: it is cut off, or not as its boundary says".to_owned())
}
