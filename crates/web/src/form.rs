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

/// Fields of a form: ten thousand items, each with the stream that it is in, and what is to become of them. A field takes
/// some eighty bytes however short it is, forty times what it took to send it.
const FIELDS_MAX: usize = 20_100;

type Fields = Vec<(String, String)>;

/// Those of the query, then those of the body. A body that is no form has none.
pub(crate) async fn fields(query: Option<&str>, headers: &HeaderMap, body: Bytes) -> ApiResult<Fields> {
    let mut fields = urlencoded(query.unwrap_or_default().as_bytes())?;
    match content_type(headers).as_deref() {
        // Some say nothing of their forms.
        None | Some("" | "application/x-www-form-urlencoded" | "text/plain") => add_urlencoded(&mut fields, &body)?,
        Some("multipart/form-data") => add_parts(&mut fields, headers, body).await?,
        Some(_) => {}
    }
    Ok(fields)
}

/// Those of a body, or of a query.
pub(crate) fn urlencoded(text: &[u8]) -> ApiResult<Fields> {
    let mut fields = Fields::new();
    add_urlencoded(&mut fields, text)?;
    Ok(fields)
}

fn add_urlencoded(fields: &mut Fields, text: &[u8]) -> ApiResult<()> {
    form_urlencoded::parse(text).into_owned().try_for_each(|field| add(fields, field))
}

fn add(fields: &mut Fields, field: (String, String)) -> ApiResult<()> {
    if fields.len() >= FIELDS_MAX {
        return Err(ApiError::BadRequest(format!("the form has more than {FIELDS_MAX} fields")));
    }
    fields.push(field);
    Ok(())
}

async fn add_parts(fields: &mut Fields, headers: &HeaderMap, body: Bytes) -> ApiResult<()> {
    let broken = || ApiError::BadRequest("the form cannot be read".to_owned());
    let mut request = Request::new(Body::from(body));
    *request.headers_mut() = headers.clone();
    // It was counted when it was read.
    DefaultBodyLimit::apply(DefaultBodyLimit::disable(), &mut request);
    let mut form = Multipart::from_request(request, &()).await.map_err(|_| broken())?;
    while let Some(field) = form.next_field().await.map_err(|_| broken())? {
        let name = field.name().unwrap_or_default().to_owned();
        add(fields, (name, field.text().await.map_err(|_| broken())?))?;
    }
    Ok(())
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

    #[tokio::test]
    async fn u8_s1_fields_of_a_form_are_bounded() {
        let part = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n";
        for (kind, one, end) in
            [("application/x-www-form-urlencoded", "a&", ""), ("multipart/form-data; boundary=x", part, "--x--\r\n")]
        {
            let headers: HeaderMap = [(axum::http::header::CONTENT_TYPE, kind.parse().unwrap())].into_iter().collect();
            for (in_query, in_body, is_ok) in
                [(0, FIELDS_MAX, true), (0, FIELDS_MAX + 1, false), (1, FIELDS_MAX, false)]
            {
                let body = Bytes::from(one.repeat(in_body) + end);
                let query = "b&".repeat(in_query);
                let read = fields(Some(&query), &headers, body).await;
                assert_eq!(read.is_ok(), is_ok, "{kind} {in_query} {in_body}");
            }
        }
    }
}
