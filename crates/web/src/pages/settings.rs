//! How somebody wants pages to look and behave. It belongs to the account; theme and text size can be set for one browser
//! alone, by a cookie: a phone and a desk want different sizes. The server knows both before the first byte, so that no
//! page flashes.

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::IntoResponse,
};
use domain::{
    AccountId,
    account::{PageSettings as Kept, PageSettingsPatch, TextSize, Theme},
    entry::Order,
    ports::AccountStore,
};
use url::form_urlencoded;

use super::{forms, local, problem::PageResult, view::View};
use crate::{
    auth::{Actor, Origin},
    error::{ApiError, ApiResult},
    state::AppState,
};

const COOKIE: &str = "pirssonite-page";
const COOKIE_SECS: u32 = 365 * 24 * 60 * 60;

/// Text sizes, from the smallest.
pub(super) const SIZES: [(&str, &str); 4] = [("s", "Small"), ("m", "Medium"), ("l", "Large"), ("xl", "Very large")];
pub(super) const ORDERS: [(&str, &str); 2] = [("newest", "Newest first"), ("oldest", "Oldest first")];
pub(super) const THEMES: [(&str, &str); 3] = [("system", "As the system"), ("light", "Light"), ("dark", "Dark")];
/// Where theme and size hold.
pub(super) const REACHES: [(&str, &str); 2] = [("account", "In all my browsers"), ("browser", "Only in this browser")];

const THEME_VALUES: [Theme; 3] = [Theme::System, Theme::Light, Theme::Dark];
const SIZE_VALUES: [TextSize; 4] = [TextSize::Small, TextSize::Medium, TextSize::Large, TextSize::VeryLarge];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub(crate) struct PageSettings {
    pub(super) theme: &'static str,
    pub(super) size: &'static str,
    /// Theme and size are of this browser alone.
    pub(super) is_own_look: bool,
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
        Self::new(Kept::default(), Look::default())
    }
}

/// Theme and size as the cookie of a browser has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Look {
    theme: Option<Theme>,
    size: Option<TextSize>,
}

impl PageSettings {
    fn new(kept: Kept, look: Look) -> Self {
        Self {
            theme: name_of(&THEMES, &THEME_VALUES, &look.theme.unwrap_or(kept.theme)),
            size: name_of(&SIZES, &SIZE_VALUES, &look.size.unwrap_or(kept.text_size)),
            is_own_look: look != Look::default(),
            order: kept.order,
            has_excerpts: kept.has_summaries,
            marks_on_scroll: kept.marks_on_scroll,
            has_keys: kept.has_keys,
        }
    }

    /// With what the account wants, where this browser wants nothing else.
    pub(super) async fn of_account(self, store: &dyn AccountStore, account: AccountId) -> ApiResult<Self> {
        let kept = store.page_settings(account).await?.ok_or(ApiError::Unauthorized)?;
        let look =
            if self.is_own_look { Look::of([("theme", self.theme), ("size", self.size)]) } else { Look::default() };
        Ok(Self::new(kept, look))
    }

    /// `browser` or `account`: where theme and size hold.
    pub(super) fn reach(self) -> &'static str {
        REACHES[usize::from(self.is_own_look)].0
    }
}

impl Look {
    fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut look = Self::default();
        for (name, value) in pairs {
            match name {
                "theme" => look.theme = value_of(&THEMES, &THEME_VALUES, value),
                "size" => look.size = value_of(&SIZES, &SIZE_VALUES, value),
                _ => {}
            }
        }
        look
    }

    fn of_cookie(headers: &HeaderMap) -> Self {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let text = pairs.find(|(name, _)| *name == COOKIE).map_or("", |(_, text)| text);
        let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).collect();
        Self::of(pairs.iter().map(|(name, value)| (&**name, &**value)))
    }

    /// The cookie that keeps it, or that removes what was kept if it is nothing.
    fn cookie(self, is_https: bool) -> HeaderValue {
        let theme = self.theme.map(|theme| name_of(&THEMES, &THEME_VALUES, &theme)).unwrap_or_default();
        let size = self.size.map(|size| name_of(&SIZES, &SIZE_VALUES, &size)).unwrap_or_default();
        let secs = if self == Self::default() { 0 } else { COOKIE_SECS };
        let secure = if is_https { "; Secure" } else { "" };
        let text =
            format!("{COOKIE}=theme={theme}&size={size}; Path=/; Max-Age={secs}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PageSettings {
    type Rejection = std::convert::Infallible;

    /// What this browser says. What the account wants is loaded with the page.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::new(Kept::default(), Look::of_cookie(&parts.headers)))
    }
}

/// Takes the form of settings over, and goes back to the page that it was on.
pub(super) async fn save(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    origin: Origin,
    request: Request,
) -> PageResult {
    let form = forms::read(request, &state).await?;
    let text = |name: &str| form.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let look = Look::of(form.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let is_own_look = text("reach").map_or(settings.is_own_look, |reach| reach == REACHES[1].0);
    let (theme, text_size) = if is_own_look { (None, None) } else { (look.theme, look.size) };
    let on = |name: &str| text(name).map(|value| value == "on");
    let patch = PageSettingsPatch {
        theme,
        text_size,
        order: text("order").and_then(Order::by_name),
        has_summaries: on("excerpts"),
        marks_on_scroll: on("scroll"),
        has_keys: on("keys"),
    };
    state.store().patch_page_settings(actor.account, patch).await?.ok_or(ApiError::Unauthorized)?;
    let cookie = if is_own_look { look } else { Look::default() }.cookie(origin.is_https);
    let back = text("back").map_or("/unread", local);
    // An order in the address would go before the one that was saved just now.
    let back = match View::of(back) {
        Some(view) if text("order").is_some() => View { order: None, ..view }.address(),
        _ => back.to_owned(),
    };
    let place = HeaderValue::try_from(back).unwrap_or(HeaderValue::from_static("/unread"));
    let headers = [(header::LOCATION, place), (header::SET_COOKIE, cookie)];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

fn name_of<T: PartialEq>(names: &[(&'static str, &str)], values: &[T], value: &T) -> &'static str {
    let found = values.iter().zip(names).find(|(known, _)| *known == value);
    found.map_or(names[0].0, |(_, (name, _))| name)
}

fn value_of<T: Copy>(names: &[(&str, &str)], values: &[T], name: &str) -> Option<T> {
    names.iter().zip(values).find(|((known, _), _)| *known == name).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookie: &str) -> HeaderMap {
        [(header::COOKIE, HeaderValue::try_from(cookie).unwrap())].into_iter().collect()
    }

    #[test]
    fn u1_every_order_can_be_chosen() {
        assert_eq!(ORDERS.map(|(name, _)| name), Order::ALL.map(Order::name));
    }

    #[test]
    fn u1_a_look_comes_back_as_it_went() {
        let look = Look { theme: Some(Theme::Dark), size: Some(TextSize::VeryLarge) };
        let cookie = look.cookie(false);
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap();
        assert_eq!(Look::of_cookie(&headers(&format!("a=b; {cookie}"))), look);
        assert!(Look::default().cookie(true).to_str().unwrap().contains("; Max-Age=0;"));
        let wrong = Look::of_cookie(&headers("pirssonite-page=theme=%3Cscript%3E&size=huge&order=none"));
        assert_eq!(wrong, Look::default());
    }

    #[test]
    fn a1_a_browser_goes_before_the_account() {
        let kept = Kept { theme: Theme::Light, text_size: TextSize::Small, has_keys: false, ..Kept::default() };
        let own = PageSettings::new(kept, Look { theme: Some(Theme::Dark), size: None });
        assert_eq!((own.theme, own.size, own.has_keys, own.reach()), ("dark", "s", false, "browser"));
        let shared = PageSettings::new(kept, Look::default());
        assert_eq!((shared.theme, shared.reach()), ("light", "account"));
    }
}
