//! A stream ends with its login: when it is ended or expires, on whichever node, when its account goes, or when whoever saw
//! the whole server may not any more. One look at the store for all streams.

use std::collections::{HashMap, HashSet};

use domain::{
    AccountId,
    account::{Account, Login, SESSION_LIFETIME},
    ports::StoreResult,
};

use super::{Hub, Open};
use crate::state::AppState;

/// Ends the streams whose logins do not hold any more. While the store does not answer, nothing is known to have ended.
pub(super) async fn end_lost(state: &AppState) {
    let (logins, has_open) = state.live.lock().logins();
    match live(state, &logins, has_open).await {
        Ok((live, open)) => state.live.lock().keep(&logins, &live, has_open, open),
        Err(error) => tracing::warn!(%error, "logins not read"),
    }
}

type LiveLogins = HashMap<Login, Account>;

async fn live(state: &AppState, logins: &[Login], has_open: bool) -> StoreResult<(LiveLogins, Option<AccountId>)> {
    let store = state.store();
    let live = if logins.is_empty() { Vec::new() } else { store.live_logins(logins, SESSION_LIFETIME).await? };
    let open = if has_open { state.auth.open_account(state.store()).await? } else { None };
    Ok((live.into_iter().collect(), open.map(|account| account.id)))
}

impl Hub {
    /// All logins that there are, each once, and whether there are streams without any.
    fn logins(&self) -> (Vec<Login>, bool) {
        let logins: HashSet<Login> = self.streams.values().filter_map(|open| open.login).collect();
        (logins.into_iter().collect(), self.streams.values().any(|open| open.login.is_none()))
    }

    /// Ends all that were asked about and do not hold. Others came while the store was asked, and were looked up just now.
    fn keep(&self, asked: &[Login], live: &LiveLogins, has_open: bool, open: Option<AccountId>) {
        let asked: HashSet<&Login> = asked.iter().collect();
        let is_good = |stream: &Open| match &stream.login {
            None => !has_open || open == Some(stream.audience.account),
            Some(login) if !asked.contains(login) => true,
            Some(login) => live.get(login).is_some_and(|account| account.is_admin || !stream.audience.sees_server),
        };
        self.streams.values().filter(|stream| !is_good(stream)).for_each(|stream| stream.end.cancel());
    }
}
