//! What an app sends: parameters in the query and in the body, as it pleases, and in a header or among them what it was
//! given when it logged in. What is not known is passed over.

use axum::{
    extract::{FromRequestParts, Request},
    http::{HeaderMap, header},
};
use url::form_urlencoded;

use super::refusal::Refusal;
use crate::{
    auth::{Actor, AppClient, AppKey, app_actor},
    body,
    error::ApiError,
    form,
    origin::own_address,
    state::AppState,
};

/// What every call carries in its header.
const SCHEME: &str = "googlelogin";

/// The parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    /// The first of this name that says something.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).find(|value| !value.is_empty())
    }

    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A request before it is known who asks.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) params: Params,
    pub(super) client: AppClient,
    pub(super) headers: HeaderMap,
}

impl Asked {
    pub(super) async fn of(state: &AppState, request: Request) -> Result<Self, Refusal> {
        let (mut parts, body) = request.into_parts();
        let client = AppClient::from_request_parts(&mut parts, state).await?;
        let bytes = body::read(body, state.settings.json_bytes_max, state.settings.json_timeout).await?;
        let params = Params(form::fields(parts.uri.query(), &parts.headers, bytes).await?);
        Ok(Self { params, client, headers: parts.headers })
    }

    /// What it was given when it logged in. Some send it as `T` alone.
    fn session(&self) -> Option<&str> {
        session_of(&self.headers).or_else(|| self.params.first("T"))
    }
}

/// The value after `GoogleLogin auth=`, or after `Bearer`.
pub(super) fn session_of(headers: &HeaderMap) -> Option<&str> {
    let (scheme, rest) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim());
    }
    let (name, value) = rest.trim().split_once('=')?;
    (scheme.eq_ignore_ascii_case(SCHEME) && name.trim().eq_ignore_ascii_case("auth")).then(|| value.trim())
}

/// A request of somebody who is known.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) state: AppState,
    pub(super) actor: Actor,
    /// What it came in with.
    pub(super) session: String,
    pub(super) params: Params,
    pub(super) headers: HeaderMap,
    client: AppClient,
}

impl Call {
    pub(super) async fn of(state: &AppState, request: Request) -> Result<Self, Refusal> {
        let asked = Asked::of(state, request).await?;
        let session = asked.session().ok_or(ApiError::Unauthorized)?.to_owned();
        let actor = app_actor(state, &asked.client, AppKey::Session(&session)).await?;
        let Asked { params, client, headers } = asked;
        Ok(Self { state: state.clone(), actor, session, params, headers, client })
    }

    /// Where the app has reached this server.
    pub(super) fn own_address(&self) -> String {
        own_address(&self.state.settings, &self.headers, self.client.is_https(&self.state))
    }
}

/// A part of a path, decoded.
pub(super) fn decoded(text: &str) -> String {
    // Decodes as a form does, but for `+`, which stands for itself in a path.
    let text = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Params {
        pub(in super::super) fn of_query(query: &str) -> Self {
            Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
        }
    }

    #[test]
    fn s1_parameters_may_be_empty_or_many() {
        let params = Params::of_query("ac=edit&s=feed/1&i=1&T=&s=feed%2F2&t=A+b&i=2&i=tag:google.com,2005:x&T=abc");
        assert_eq!(params.first("ac"), Some("edit"));
        assert_eq!(params.first("T"), Some("abc"));
        assert_eq!(params.first("none"), None);
        assert_eq!(params.all("s").collect::<Vec<_>>(), ["feed/1", "feed/2"]);
        assert_eq!(params.all("i").collect::<Vec<_>>(), ["1", "2", "tag:google.com,2005:x"]);
        assert_eq!(params.first("t"), Some("A b"));
    }

    #[test]
    fn s1_sessions_are_read_from_the_header() {
        for (value, expect) in [
            ("GoogleLogin auth=abc", Some("abc")),
            ("googlelogin Auth= abc ", Some("abc")),
            ("Bearer pir_x", Some("pir_x")),
            ("GoogleLogin abc", None),
            ("Basic auth=abc", None),
            ("abc", None),
        ] {
            let headers: HeaderMap = [(header::AUTHORIZATION, value.parse().unwrap())].into_iter().collect();
            assert_eq!(session_of(&headers), expect, "{value}");
        }
    }

    #[test]
    fn s1_streams_in_paths_are_decoded() {
        for (text, expect) in [
            ("feed%2F12", "feed/12"),
            ("feed/12", "feed/12"),
            ("user/-/label/C%2B%2B%20%26%20%C3%A9", "user/-/label/C++ & é"),
            ("user/-/label/C++", "user/-/label/C++"),
            ("feed/http://e.org/?a=b&c", "feed/http://e.org/?a=b&c"),
            ("%zz", "%zz"),
        ] {
            assert_eq!(decoded(text), expect);
        }
    }
}
