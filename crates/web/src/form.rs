//! The fields of a form, as apps of other readers send them: in the query, in the body, or in both; urlencoded or multipart.

use axum::{
    body::Body,
    extract::{DefaultBodyLimit, FromRequest, Multipart, Request},
    http::HeaderMap,
};
use bytes::Bytes;
use url::form_urlencoded;

use crate::{
    error::{ApiError, ApiResult},
    extract::content_type,
};

/// Fields of a multipart form: whoever marks many uses the other kind.
const PARTS_MAX: usize = 10_100;

/// Those of the query, then those of the body. A body that is no form has none.
pub(crate) async fn fields(query: Option<&str>, headers: &HeaderMap, body: Bytes) -> ApiResult<Vec<(String, String)>> {
    let mut fields: Vec<(String, String)> =
        form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
    match content_type(headers).as_deref() {
        // Some say nothing of their forms.
        None | Some("" | "application/x-www-form-urlencoded" | "text/plain") => {
            fields.extend(form_urlencoded::parse(&body).into_owned());
        }
        Some("multipart/form-data") => fields.extend(parts(headers, body).await?),
        Some(_) => {}
    }
    Ok(fields)
}

async fn parts(headers: &HeaderMap, body: Bytes) -> ApiResult<Vec<(String, String)>> {
    let broken = || ApiError::BadRequest("the form cannot be read".to_owned());
    let mut request = Request::new(Body::from(body));
    *request.headers_mut() = headers.clone();
    // It was counted when it was read.
    DefaultBodyLimit::apply(DefaultBodyLimit::disable(), &mut request);
    let mut form = Multipart::from_request(request, &()).await.map_err(|_| broken())?;
    let mut fields = Vec::new();
    while let Some(field) = form.next_field().await.map_err(|_| broken())? {
        let name = field.name().unwrap_or_default().to_owned();
        fields.push((name, field.text().await.map_err(|_| broken())?));
        if fields.len() > PARTS_MAX {
            return Err(broken());
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(query: &str, kind: Option<&str>, body: &str) -> Vec<String> {
        let headers = kind.map(|kind| (axum::http::header::CONTENT_TYPE, kind.parse().unwrap()));
        let fields = fields(Some(query), &headers.into_iter().collect(), Bytes::from(body.to_owned())).await.unwrap();
        fields.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[tokio::test]
    async fn s1_forms_are_read_from_query_and_body_of_either_kind() {
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"Email\"\r\n\r\nann & co\r\n--x--\r\n";
        for (query, kind, body, expect) in [
            ("a=1&b=%20", Some("application/x-www-form-urlencoded"), "a=2&c=x+y", vec!["a=1", "b= ", "a=2", "c=x y"]),
            ("a=1", None, "b=2", vec!["a=1", "b=2"]),
            ("", Some("text/plain;charset=UTF-8"), "b=2", vec!["b=2"]),
            ("a=1", Some("text/xml"), "<opml/>", vec!["a=1"]),
            ("a=1", Some("multipart/form-data; boundary=x"), multipart, vec!["a=1", "Email=ann & co"]),
        ] {
            assert_eq!(read(query, kind, body).await, expect, "{kind:?}");
        }
        let headers =
            [(axum::http::header::CONTENT_TYPE, "multipart/form-data".parse().unwrap())].into_iter().collect();
        assert!(fields(None, &headers, Bytes::from_static(b"x")).await.is_err());
    }
}
