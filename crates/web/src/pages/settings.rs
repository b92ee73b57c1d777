//! How somebody wants pages to look and behave. It is kept in a cookie: a phone and a desk want different sizes, and the
//! server knows it before the first byte, so that no page flashes.

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::IntoResponse,
};
use domain::entry::Order;
use url::form_urlencoded;

use super::{forms, local, problem::PageResult};
use crate::{auth::Origin, state::AppState};

const COOKIE: &str = "pirssonite-page";
const COOKIE_SECS: u32 = 365 * 24 * 60 * 60;

/// Text sizes, from the smallest.
pub(super) const SIZES: [(&str, &str); 4] = [("s", "Small"), ("m", "Medium"), ("l", "Large"), ("xl", "Very large")];
pub(super) const THEMES: [(&str, &str); 3] = [("system", "As the system"), ("light", "Light"), ("dark", "Dark")];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageSettings {
    pub(super) theme: &'static str,
    pub(super) size: &'static str,
    pub(super) order: Order,
    /// Lists show the first words of entries, too.
    pub(super) has_excerpts: bool,
    /// What is scrolled past is marked as read.
    pub(super) marks_on_scroll: bool,
    /// Single keys do something.
    pub(super) has_keys: bool,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            theme: THEMES[0].0,
            size: SIZES[1].0,
            order: Order::Newest,
            has_excerpts: true,
            marks_on_scroll: false,
            has_keys: true,
        }
    }
}

impl PageSettings {
    fn of(headers: &HeaderMap) -> Self {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut settings = Self::default();
        if let Some((_, text)) = pairs.find(|(name, _)| *name == COOKIE) {
            settings.read(text);
        }
        settings
    }

    /// Takes over what is known of `name=value&...`; what is not named stays.
    fn read(&mut self, text: &str) {
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            match &*name {
                "theme" => self.theme = known(&THEMES, &value).unwrap_or(self.theme),
                "size" => self.size = known(&SIZES, &value).unwrap_or(self.size),
                "order" => self.order = order(&value).unwrap_or(self.order),
                "excerpts" => self.has_excerpts = value == "on",
                "scroll" => self.marks_on_scroll = value == "on",
                "keys" => self.has_keys = value == "on",
                _ => {}
            }
        }
    }

    fn cookie(self, is_https: bool) -> HeaderValue {
        let Self { theme, size, order, has_excerpts, marks_on_scroll, has_keys } = self;
        let [excerpts, scroll, keys] =
            [has_excerpts, marks_on_scroll, has_keys].map(|is| if is { "on" } else { "off" });
        let order = order_name(order);
        let secure = if is_https { "; Secure" } else { "" };
        let text = format!(
            "{COOKIE}=theme={theme}&size={size}&order={order}&excerpts={excerpts}&scroll={scroll}&keys={keys}; Path=/; \
             Max-Age={COOKIE_SECS}; HttpOnly; SameSite=Lax{secure}"
        );
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PageSettings {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::of(&parts.headers))
    }
}

/// Takes the form of settings over, and goes back to the page that it was on.
pub(super) async fn save(
    State(state): State<AppState>,
    mut settings: PageSettings,
    origin: Origin,
    request: Request,
) -> PageResult {
    let form = forms::read(request, &state).await?;
    let mut back = "/unread".to_owned();
    for (name, value) in &form {
        match name.as_str() {
            "back" => local(value).clone_into(&mut back),
            _ => settings.read(&form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish()),
        }
    }
    let place = HeaderValue::try_from(back).unwrap_or(HeaderValue::from_static("/unread"));
    let headers = [(header::LOCATION, place), (header::SET_COOKIE, settings.cookie(origin.is_https))];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

pub(super) fn order(name: &str) -> Option<Order> {
    match name {
        "newest" => Some(Order::Newest),
        "oldest" => Some(Order::Oldest),
        _ => None,
    }
}

pub(super) fn order_name(order: Order) -> &'static str {
    match order {
        Order::Newest => "newest",
        Order::Oldest => "oldest",
    }
}

fn known(names: &[(&'static str, &str)], name: &str) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == name).map(|(known, _)| *known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_settings_come_back_as_they_went() {
        let mut settings = PageSettings::default();
        settings.read("theme=dark&size=xl&order=oldest&excerpts=off&scroll=on&keys=off&other=1");
        let cookie = settings.cookie(false);
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap();
        let headers: HeaderMap =
            [(header::COOKIE, HeaderValue::try_from(format!("a=b; {cookie}")).unwrap())].into_iter().collect();
        assert_eq!(PageSettings::of(&headers), settings);
        assert_ne!(settings, PageSettings::default());
        let mut wrong = PageSettings::default();
        wrong.read("theme=%3Cscript%3E&size=huge&order=none");
        assert_eq!(wrong, PageSettings::default());
    }
}
