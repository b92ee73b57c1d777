//! The icons of feeds, at addresses that need no login: apps load them as any picture, without what they came in with, some
//! from a page of their own. Each address is signed for one account and one feed. Nobody finds one that they were not
//! given, it shows nothing but this icon, and it ends when the account leaves the feed or is removed.

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
};
use domain::{AccountId, FeedId, signer::Signer};

use super::{
    refusal::{Answer, Refusal},
    request::Call,
};
use crate::{error::ApiError, routes::icons, state::AppState};

/// Among the paths of apps, which proxies with a login of their own let through.
const PREFIX: &str = "/api/greader.php/icons";

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What the address of an icon names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FeedIcon {
    account: AccountId,
    feed: FeedId,
    signature: String,
}

impl FeedIcon {
    pub(super) fn parse(account: &str, feed: &str, signature: &str) -> Option<Self> {
        let (account, feed) = (AccountId(account.parse().ok()?), FeedId(feed.parse().ok()?));
        Some(Self { account, feed, signature: signature.to_owned() })
    }
}

/// Makes the addresses of icons, as the app that asks can reach them.
pub(super) struct IconAddresses {
    base: String,
    signer: Signer,
}

impl IconAddresses {
    pub(super) fn of(call: &Call) -> Self {
        Self { base: call.own_address(), signer: signer(&call.state) }
    }

    pub(super) fn address(&self, account: AccountId, feed: FeedId) -> String {
        format!("{}{PREFIX}/{account}/{feed}/{}", self.base, self.signer.sign(&signed(account, feed)))
    }
}

fn signer(state: &AppState) -> Signer {
    Signer::new(state.store().picture_key())
}

fn signed(account: AccountId, feed: FeedId) -> String {
    format!("icon of feed {feed} for account {account}")
}

pub(super) async fn get(state: &AppState, icon: &FeedIcon, request: Request) -> Answer {
    let (asked, _) = request.into_parts();
    if !asked.method.is_safe() {
        return Err(ApiError::MethodNotAllowed.into());
    }
    let FeedIcon { account, feed, signature } = icon;
    if !signer(state).is_signed(&signed(*account, *feed), signature) {
        return Err(Refusal::NotFound);
    }
    let store = state.store();
    // What a removed account follows goes later than the account.
    store.account(*account).await?.ok_or(Refusal::NotFound)?;
    let icon = store.feed_icon(*account, *feed).await?.ok_or(Refusal::NotFound)?;
    let mut response = icons::shown(icon, &asked.headers);
    response.headers_mut().insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    Ok(response)
}
