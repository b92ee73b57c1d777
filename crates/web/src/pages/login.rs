//! The login page: a form, and what became of it.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use url::form_urlencoded;

use super::{escape, page};
use crate::{
    auth::{LOGIN_BYTES_MAX, Origin, end_session, identify, log_in},
    body,
    error::{ApiError, ApiResult, whole_secs},
    extract::{check_not_encoded, content_type},
    query::Parameters,
    state::AppState,
};

const FRAME: &str = include_str!("login.html");

/// Where one goes who asked for nothing else.
const START: &str = "/";

/// What a page shows whose login ends while it is open.
const ENDED: &str = "<p role=\"status\">Your login has ended. Log in again, and you are back where you were.</p>\n";

/// What the form holds.
#[derive(Default)]
struct Form {
    name: String,
    password: String,
    next: String,
}

/// The form; whoever is logged in already goes on.
pub(super) async fn show(State(state): State<AppState>, request: Request) -> ApiResult<Response> {
    let mut given = Parameters::of(request.uri().query());
    let mut text = |name: &str| given.text(name).ok().flatten();
    let (next, has_ended) = (text("next").unwrap_or_default(), text("ended").is_some());
    let next = local(&next);
    let identified = identify(request.extensions(), request.headers(), &state).await;
    match identified {
        Ok(_) => Ok(see_other(next)),
        Err(ApiError::Unauthorized) if !state.auth.has_passwords(state.store()).await? => Ok(page(no_password())),
        Err(ApiError::Unauthorized) => Ok(page(form("", next, None, has_ended))),
        Err(error) => Err(error),
    }
}

/// Logs in, or says what is wrong.
pub(super) async fn submit(State(state): State<AppState>, origin: Origin, request: Request) -> ApiResult<Response> {
    let Form { name, password, next } = read(request, &state).await?;
    let next = local(&next);
    let (status, problem) = match log_in(&state, &origin, &name, password).await {
        Ok((_, cookie)) => return Ok(with_cookie(see_other(next), cookie)),
        Err(ApiError::Unauthorized) if !state.auth.has_passwords(state.store()).await? => {
            return Ok((StatusCode::UNAUTHORIZED, page(no_password())).into_response());
        }
        Err(ApiError::Unauthorized) => (StatusCode::UNAUTHORIZED, "The name or the password is wrong.".to_owned()),
        Err(ApiError::TooManyAttempts(wait)) => {
            let secs = whole_secs(&wait);
            let page =
                page(form(&name, next, Some(&format!("Too many attempts. Try again in {}.", in_words(secs))), false));
            let headers = [(header::RETRY_AFTER, secs.to_string())];
            return Ok((StatusCode::TOO_MANY_REQUESTS, headers, page).into_response());
        }
        Err(ApiError::Unavailable(_) | ApiError::StoreUnavailable(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, "The server is too busy right now. Try again in a moment.".to_owned())
        }
        Err(error) => return Err(error),
    };
    Ok((status, page(form(&name, next, Some(&problem), false))).into_response())
}

/// Logs out, and shows the form again.
pub(super) async fn log_out(State(state): State<AppState>, origin: Origin) -> ApiResult<Response> {
    end_session(&state, &origin).await?;
    Ok(with_cookie(see_other("/login"), origin.no_cookie()))
}

async fn read(request: Request, state: &AppState) -> ApiResult<Form> {
    check_not_encoded(request.headers())?;
    if content_type(request.headers()).as_deref() != Some("application/x-www-form-urlencoded") {
        return Err(ApiError::UnsupportedMediaType("send a form, as `application/x-www-form-urlencoded`"));
    }
    let bytes = body::read(request.into_body(), LOGIN_BYTES_MAX, state.settings.json_timeout).await?;
    let mut form = Form::default();
    for (field, value) in form_urlencoded::parse(&bytes) {
        match &*field {
            "name" => form.name = value.into_owned(),
            "password" => form.password = value.into_owned(),
            "next" => form.next = value.into_owned(),
            _ => {}
        }
    }
    Ok(form)
}

/// Where to go, if that is a path of this server; browsers take `//` and `/\` for the beginning of another one.
pub(super) fn local(next: &str) -> &str {
    let is_local = next.starts_with('/')
        && !next[1..].starts_with(['/', '\\'])
        && !next.chars().any(|c| c.is_control() || c == '\\')
        && next.is_ascii();
    if is_local { next } else { START }
}

fn see_other(path: &str) -> Response {
    let place = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static(START));
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

fn with_cookie(mut response: Response, cookie: HeaderValue) -> Response {
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}

/// The form: with what went wrong, or for whoever was logged in until now.
fn form(name: &str, next: &str, problem: Option<&str>, has_ended: bool) -> String {
    let note = if has_ended { ENDED } else { "" };
    let (name, next) = (escape(name), escape(next));
    let problem = problem.map_or(String::new(), |problem| {
        format!("<p class=\"problem\" id=\"problem\" role=\"alert\">{}</p>\n", escape(problem))
    });
    let described = if problem.is_empty() { "" } else { " aria-invalid=\"true\" aria-describedby=\"problem\"" };
    // Whoever has typed the name already goes on with the password.
    let [on_name, on_password] = if name.is_empty() { [" autofocus", ""] } else { ["", " autofocus"] };
    FRAME.replace(
        "{{CONTENT}}",
        &format!(
            "<form method=\"post\" action=\"/login\">\n{note}{problem}\
             <input type=\"hidden\" name=\"next\" value=\"{next}\">\n\
             <label for=\"name\">Name</label>\n\
             <input id=\"name\" name=\"name\" value=\"{name}\" autocomplete=\"username\" autocapitalize=\"none\" \
             spellcheck=\"false\" required{described}{on_name}>\n\
             <label for=\"password\">Password</label>\n\
             <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" \
             required{described}{on_password}>\n\
             <button>Log in</button>\n</form>"
        ),
    )
}

/// For a server that nobody can log in to yet.
fn no_password() -> String {
    FRAME.replace(
        "{{CONTENT}}",
        "<section>\n<h2>No password has been set yet</h2>\n\
         <p>Until there is one, this server is open to its own machine alone. Set one there, in the folder that it was \
         started in:</p>\n<pre><code>pirssonite account password</code></pre>\n\
         <p>Or start it for the first time with <code>PIRSSONITE_PASSWORD_FILE</code>, which names a file with the \
         password. The account is called <strong>reader</strong>.</p>\n\
         <p><a href=\"/login\">Try again</a></p>\n</section>",
    )
}

fn in_words(secs: u64) -> String {
    match secs {
        1 => "a second".to_owned(),
        2..=119 => format!("{secs} seconds"),
        _ => format!("{} minutes", secs.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a4_the_login_leads_to_local_pages_only() {
        for (next, expect) in [
            ("/", "/"),
            ("/entries?feed=1#x", "/entries?feed=1#x"),
            ("", "/"),
            ("entries", "/"),
            ("//evil.example/", "/"),
            ("/\\evil.example/", "/"),
            ("/a\\b", "/"),
            ("https://evil.example/", "/"),
            ("javascript:alert(1)", "/"),
            ("/a\r\nSet-Cookie: x=y", "/"),
            ("/\t/evil.example", "/"),
            ("/é", "/"),
        ] {
            assert_eq!(local(next), expect, "{next:?}");
        }
    }

    #[test]
    fn a4_the_form_keeps_the_name_and_nothing_dangerous() {
        let html = form("\"><script>alert('x')</script>", "/?a=\"b\"&c", Some("<No>"), false);
        assert!(!html.contains("<script") && html.contains("value=\"&quot;&gt;&lt;script&gt;"), "{html}");
        assert!(html.contains("value=\"/?a=&quot;b&quot;&amp;c\"") && html.contains("role=\"alert\">&lt;No&gt;</p>"));
        assert!(html.contains("required aria-invalid=\"true\" aria-describedby=\"problem\" autofocus>\n<button>"));
        assert!(form("", "/all", None, true).contains("Your login has ended."));
        let fresh = form("", "/", None, false);
        assert!(!fresh.contains("problem") && fresh.contains("required autofocus>\n<label for=\"password\""));
        for html in [fresh, no_password()] {
            assert!(!html.contains("style=") && !html.contains("<style") && !html.contains("{{"), "{html}");
        }
    }

    #[test]
    fn a4_waits_are_shown_in_words() {
        for (secs, expect) in [(1, "a second"), (8, "8 seconds"), (120, "2 minutes"), (121, "3 minutes")] {
            assert_eq!(in_words(secs), expect);
        }
    }
}
