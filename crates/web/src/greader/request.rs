//! What an app sends: parameters in the query and in the body, as it pleases, and in a header or among them what it was
//! given when it logged in. What is not known is passed over.

use axum::{
    extract::{FromRequestParts, Request},
    http::{HeaderMap, header, request::Parts},
};
use bytes::Bytes;
use url::form_urlencoded;

use super::refusal::Refusal;
use crate::{
    auth::{Actor, AppClient, AppKey, LOGIN_BYTES_MAX, app_actor},
    body,
    error::ApiError,
    extract::check_not_encoded,
    form,
    origin::own_address,
    state::AppState,
};

/// What every call carries in its header.
const SCHEME: &str = "googlelogin";
/// The parameter in which some send the same.
const SESSION_PARAM: &str = "T";

/// Bytes of a body in which alone it stands who sends it: a thousand items.
const UNKNOWN_BYTES_MAX: usize = 64 * 1024;

/// The parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    async fn of(parts: &Parts, body: Bytes) -> Result<Self, Refusal> {
        Ok(Self(form::fields(parts.uri.query(), &parts.headers, body).await?))
    }

    /// The first of this name that says something.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).find(|value| !value.is_empty())
    }

    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What a login says, and where it comes from. Nothing else of it is kept: logins wait for each other.
#[derive(Debug)]
pub(super) struct LoginForm {
    pub(super) client: AppClient,
    pub(super) name: Option<String>,
    pub(super) secret: Option<String>,
    pub(super) wants_json: bool,
}

impl LoginForm {
    pub(super) async fn of(state: &AppState, request: Request) -> Result<Self, Refusal> {
        let (mut parts, body) = request.into_parts();
        check_not_encoded(&parts.headers)?;
        let client = AppClient::from_request_parts(&mut parts, state).await?;
        let bytes = body::read(body, LOGIN_BYTES_MAX, state.settings.json_timeout).await?;
        let params = Params::of(&parts, bytes).await?;
        let text = |name: &str| params.first(name).map(ToOwned::to_owned);
        let wants_json = params.first("output") == Some("json");
        Ok(Self { client, name: text("Email"), secret: text("Passwd"), wants_json })
    }
}

/// What an app was given when it logged in, if that stands before the body.
fn session_before_body(parts: &Parts) -> Option<String> {
    let in_query = || {
        let mut fields = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        fields.find(|(name, value)| name == SESSION_PARAM && !value.is_empty()).map(|(_, value)| value.into_owned())
    };
    session_of(&parts.headers).map(ToOwned::to_owned).or_else(in_query)
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
    /// Whoever says so before the body is known before anything of it is read. Of others a little is read, within memory
    /// that all of them share, and taken apart only once they are known: its fields take many times the memory.
    pub(super) async fn of(state: &AppState, request: Request) -> Result<Self, Refusal> {
        let (mut parts, body) = request.into_parts();
        check_not_encoded(&parts.headers)?;
        let client = AppClient::from_request_parts(&mut parts, state).await?;
        let actor_of = async |session: &str| app_actor(state, &client, AppKey::Session(session)).await;
        let time_max = state.settings.json_timeout;
        let (session, actor, bytes) = if let Some(session) = session_before_body(&parts) {
            let actor = actor_of(&session).await?;
            (session, actor, body::read(body, state.settings.json_bytes_max, time_max).await?)
        } else {
            let read = body::read_within_budget(&state.stranger_memory, body, UNKNOWN_BYTES_MAX, time_max).await;
            let (bytes, _memory) = read?;
            let session = Params::of(&parts, bytes.clone()).await?.first(SESSION_PARAM).map(ToOwned::to_owned);
            let session = session.ok_or(ApiError::Unauthorized)?;
            let actor = actor_of(&session).await?;
            (session, actor, bytes)
        };
        let params = Params::of(&parts, bytes).await?;
        Ok(Self { state: state.clone(), actor, session, params, headers: parts.headers, client })
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
