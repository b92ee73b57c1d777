//! A1, A4 and A5: accounts, their sessions and their tokens.

use std::time::Duration;

use domain::{
    Account, AccountId, SessionId, TokenId,
    account::{
        AccountName, AccountPatch, Credentials, Login, NewAccount, NewSession, NewToken, READER, READER_NAME,
        SecretHash, Session, TokenScope,
    },
    delivery::DeliveryFilter,
    ports::{AccountOutcome, Conflict},
};

use super::{
    Harness,
    given::{HOUR, entry},
    given_push::DAY,
};

contract! {
    a3_a_new_server_has_one_account,
    a1_names_are_there_once_without_regard_to_case,
    a1_an_account_is_changed,
    a1_an_administrator_is_left,
    a1_a_removed_account_is_gone_at_once,
    a1_what_a_removed_account_had_goes_in_pieces,
    a1_every_removed_account_is_reached,
    a1_what_is_added_after_the_removal_goes_too,
    a4_a_session_lasts_while_it_is_used,
    a4_a_session_that_was_not_pruned_yet_begins_anew,
    a4_another_password_ends_other_sessions,
    a4_a_login_that_began_before_a_new_password_is_none,
    a4_what_was_ended_of_apps_is_not_given_again,
    a5_a_token_serves_until_it_ends,
    a5_sessions_and_tokens_are_their_accounts,
    u2_live_logins_are_those_that_hold,
}

const LIFETIME: Duration = Duration::from_hours(24 * 30);
const MINUTE: Duration = Duration::from_mins(1);
const MILLISECOND: Duration = Duration::from_millis(1);

fn name(text: &str) -> AccountName {
    AccountName::parse(text).unwrap()
}

fn new_account(text: &str) -> NewAccount {
    NewAccount { name: name(text), password_hash: None, is_admin: false }
}

pub(super) fn session(secret: u8) -> NewSession {
    let (address, user_agent) = (Some("192.0.2.1".to_owned()), Some("a browser".to_owned()));
    NewSession { secret: SecretHash([secret; 32]), is_app: false, address, user_agent }
}

fn app_session(secret: u8) -> NewSession {
    NewSession { is_app: true, ..session(secret) }
}

pub(super) fn token(secret: u8) -> NewToken {
    NewToken {
        name: format!("token {secret}"),
        scope: TokenScope::Write,
        expires_at: None,
        secret: SecretHash([secret; 32]),
        fever_key: SecretHash([secret + 100; 32]),
    }
}

fn done(outcome: AccountOutcome) -> Account {
    match outcome {
        AccountOutcome::Done(account) => *account,
        other => panic!("it was not done: {other:?}"),
    }
}

impl Harness {
    /// What a login of its account is checked against.
    async fn credentials(&self) -> Credentials {
        let account = self.store.account(self.id()).await.unwrap().unwrap();
        self.store.credentials(&account.name).await.unwrap().unwrap()
    }

    pub(super) async fn log_in(&self, new: NewSession) -> Session {
        self.store.create_session(&self.credentials().await, new).await.unwrap().unwrap()
    }

    async fn session_of(&self, secret: u8) -> Option<(AccountId, SessionId)> {
        let found = self.store.session(SecretHash([secret; 32]), LIFETIME).await.unwrap();
        found.map(|(account, session)| (account.id, session.id))
    }

    async fn token_of(&self, secret: u8) -> Option<(AccountId, TokenId)> {
        let found = self.store.token(SecretHash([secret; 32])).await.unwrap();
        found.map(|(account, token)| (account.id, token.id))
    }

    async fn prune_accounts(&self) {
        while self.store.prune_accounts(LIFETIME, 7).await.unwrap() > 0 {}
    }
}

async fn a3_a_new_server_has_one_account(harness: &Harness) {
    let accounts = harness.store.accounts().await.unwrap();
    assert_eq!(accounts.len(), 1);
    let reader = &accounts[0];
    assert_eq!((reader.id, reader.name.as_str()), (READER, READER_NAME));
    assert_eq!((reader.is_admin, reader.has_password), (true, false));
    assert!(reader.created_at > jiff::Timestamp::UNIX_EPOCH, "since the first start");
    assert_eq!(harness.store.account(READER).await.unwrap().as_ref(), Some(reader));
    assert_eq!(harness.store.account(AccountId(999)).await.unwrap(), None);
    assert!(!harness.store.has_passwords().await.unwrap());
}

async fn a1_names_are_there_once_without_regard_to_case(harness: &Harness) {
    let ann = harness.store.create_account(new_account("Ärger Ann")).await.unwrap().unwrap();
    assert_eq!((ann.name.as_str(), ann.created_at), ("Ärger Ann", harness.now()));
    for taken in ["ärger ann", "ÄRGER  ANN", "READER"] {
        assert_eq!(harness.store.create_account(new_account(taken)).await.unwrap(), Err(Conflict), "{taken}");
    }
    for typed in ["ärger ann", " ÄRGER  Ann "] {
        let found = harness.store.credentials(typed).await.unwrap().unwrap();
        assert_eq!((found.account.clone(), found.password_hash), (ann.clone(), None));
    }
    for none in ["", "ann", "ärger\0ann?", "%"] {
        assert!(harness.store.credentials(none).await.unwrap().is_none(), "{none}");
    }
    let other = harness.store.create_account(new_account("Bob")).await.unwrap().unwrap();
    let rename = |text| AccountPatch { name: Some(name(text)), ..AccountPatch::default() };
    assert_eq!(harness.store.update_account(other.id, rename("ärger ANN")).await.unwrap(), AccountOutcome::Conflict);
    let renamed = done(harness.store.update_account(ann.id, rename("ärger ann")).await.unwrap());
    assert_eq!(renamed.name, "ärger ann", "its own name is not taken");
}

async fn a1_an_account_is_changed(harness: &Harness) {
    let store = &harness.store;
    let ann = store.create_account(new_account("ann")).await.unwrap().unwrap();
    let patch = AccountPatch {
        name: Some(name("Ann Lee")),
        is_admin: Some(true),
        password_hash: Some("$argon2id$".to_owned()),
        kept_session: None,
    };
    let changed = done(store.update_account(ann.id, patch).await.unwrap());
    assert_eq!(changed, Account { name: "Ann Lee".to_owned(), is_admin: true, has_password: true, ..ann });
    assert_eq!(store.credentials("ann lee").await.unwrap().unwrap().password_hash.as_deref(), Some("$argon2id$"));
    assert!(store.credentials("ann").await.unwrap().is_none());
    assert!(store.has_passwords().await.unwrap());
    assert_eq!(done(store.update_account(changed.id, AccountPatch::default()).await.unwrap()), changed);
    let nobody = store.update_account(AccountId(999), AccountPatch::default()).await.unwrap();
    assert_eq!(nobody, AccountOutcome::NotFound);
    done(store.delete_account(changed.id).await.unwrap());
    assert!(!store.has_passwords().await.unwrap(), "nobody comes in with a removed one's");
}

async fn a1_an_administrator_is_left(harness: &Harness) {
    let store = &harness.store;
    let plain = || AccountPatch { is_admin: Some(false), ..AccountPatch::default() };
    let ann = store.create_account(new_account("ann")).await.unwrap().unwrap().id;
    assert_eq!(store.update_account(READER, plain()).await.unwrap(), AccountOutcome::LastAdministrator);
    assert_eq!(store.delete_account(READER).await.unwrap(), AccountOutcome::LastAdministrator);
    assert!(store.account(READER).await.unwrap().unwrap().is_admin);
    // Where both are wrong, the name is said first.
    let both = || AccountPatch { name: Some(name("Ann")), ..plain() };
    assert_eq!(store.update_account(READER, both()).await.unwrap(), AccountOutcome::Conflict);
    assert_eq!(store.update_account(AccountId(99), both()).await.unwrap(), AccountOutcome::NotFound);
    let raise = AccountPatch { is_admin: Some(true), ..AccountPatch::default() };
    done(store.update_account(ann, raise).await.unwrap());
    done(store.update_account(READER, plain()).await.unwrap());
    assert_eq!(store.delete_account(ann).await.unwrap(), AccountOutcome::LastAdministrator);
    done(store.delete_account(READER).await.unwrap());
    assert_eq!(store.update_account(ann, plain()).await.unwrap(), AccountOutcome::LastAdministrator);
}

async fn a1_a_removed_account_is_gone_at_once(harness: &Harness) {
    let ann = harness.account("ann").await;
    let feed = ann.add("http://e.org/1", vec![]).await;
    harness.follow("http://e.org/1").await;
    ann.log_in(session(1)).await;
    ann.store.create_token(ann.id(), token(2)).await.unwrap();
    let webhook = ann.webhook("https://r.org/1").await;
    ann.queue(webhook, 1).await;
    let before = ann.store.account(ann.id()).await.unwrap().unwrap();
    assert_eq!(done(harness.store.delete_account(ann.id()).await.unwrap()), before);
    assert_eq!(harness.store.delete_account(ann.id()).await.unwrap(), AccountOutcome::NotFound);
    let patch = AccountPatch::default();
    assert_eq!(harness.store.update_account(ann.id(), patch).await.unwrap(), AccountOutcome::NotFound);
    assert_eq!(harness.store.account(ann.id()).await.unwrap(), None);
    assert_eq!(harness.store.accounts().await.unwrap().len(), 1);
    assert!(harness.store.credentials("ann").await.unwrap().is_none());
    assert_eq!(
        (harness.session_of(1).await, harness.token_of(2).await, harness.token_of(102).await),
        (None, None, None)
    );
    assert_eq!(harness.store.sessions(ann.id(), LIFETIME).await.unwrap(), []);
    assert_eq!(harness.store.tokens(ann.id()).await.unwrap(), []);
    assert_eq!(ann.store.webhooks().await.unwrap(), []);
    assert_eq!(harness.store.receiver(webhook).await.unwrap(), None);
    assert_eq!(ann.outbox(DeliveryFilter::default()).await, []);
    assert_eq!(harness.take("worker", 9).await.len(), 0, "nothing is sent any more");
    harness.poll(feed, vec![entry("1")]).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
    // Its name is free, and the new one is another.
    let again = harness.account("ann").await;
    assert_ne!(again.id(), ann.id());
    assert_eq!(again.store.feeds().await.unwrap(), []);
}

async fn a1_what_a_removed_account_had_goes_in_pieces(harness: &Harness) {
    let entries = |count: i64| (0..count).map(|number| entry(&number.to_string())).collect();
    let ann = harness.account("ann").await;
    let shared = ann.add("http://e.org/1", entries(20)).await;
    let alone = ann.add("http://e.org/2", entries(25)).await;
    let (_, subscription) = ann.pushed("http://e.org/3", "token").await;
    ann.store.create_folder("Mine").await.unwrap().unwrap();
    ann.patch("7", None, Some(true)).await;
    harness.follow("http://e.org/1").await;
    done(harness.store.delete_account(ann.id()).await.unwrap());
    let first = harness.store.prune_accounts(LIFETIME, 7).await.unwrap();
    assert!((1..=8).contains(&first), "{first}: a piece");
    assert!(harness.number("SELECT count(*) FROM entry_states").await > 20, "not all at once");
    // Also of a feed that nobody else follows, and what is gone of it does not come back.
    let (mut left, mut pieces) = (harness.number("SELECT count(*) FROM entries").await, 0);
    while harness.store.polled_feed(alone).await.unwrap().is_some() {
        harness.poll(alone, entries(25)).await;
        assert!(harness.store.prune_accounts(LIFETIME, 7).await.unwrap() <= 8);
        let now_left = harness.number("SELECT count(*) FROM entries").await;
        assert!((left - 8..=left).contains(&now_left), "{left} and then {now_left}");
        (left, pieces) = (now_left, pieces + 1);
    }
    assert!(pieces >= 3, "{pieces}");
    harness.prune_accounts().await;
    assert_eq!(harness.store.polled_feed(alone).await.unwrap(), None, "nobody follows it any more");
    let left = harness.store.subscription(subscription).await.unwrap().unwrap();
    assert_eq!((left.feed_id, left.state), (None, domain::push::SubscriptionState::Unsubscribing));
    for (table, count) in [("feeds", 1), ("follows", 1), ("entries", 20), ("entry_states", 20), ("folders", 0)] {
        assert_eq!(harness.number(&format!("SELECT count(*) FROM {table}")).await, count, "{table}");
    }
    assert_eq!(harness.unread_of(shared).await, 20);
    harness.poll(shared, vec![entry("new")]).await;
    assert_eq!(harness.number("SELECT count(*) FROM entry_states").await, 21, "nothing new for the removed one");
    // Whoever was let in just before makes something yet.
    ann.store.create_token(ann.id(), token(1)).await.unwrap();
    ann.webhook("https://r.org/1").await;
    harness.advance(HOUR).await;
    harness.prune_accounts().await;
    assert_eq!(harness.number("SELECT count(*) FROM accounts").await, 1);
    for left in ["sessions", "tokens", "webhooks WHERE deleted_at IS NULL"] {
        assert_eq!(harness.number(&format!("SELECT count(*) FROM {left}")).await, 0, "{left}");
    }
    assert_eq!(harness.store.prune_accounts(LIFETIME, 7).await.unwrap(), 0, "nothing is left");
}

/// Also those behind more that are empty, and kept for a while, than a call removes rows.
async fn a1_every_removed_account_is_reached(harness: &Harness) {
    let mut accounts = Vec::new();
    for number in 1..=6 {
        accounts.push(harness.account(&format!("account {number}")).await);
    }
    let last = accounts.last().unwrap();
    let feed = last.add("http://e.org/1", vec![entry("1"), entry("2"), entry("3")]).await;
    for account in &accounts {
        done(harness.store.delete_account(account.id()).await.unwrap());
    }
    let prune_all = async || while harness.store.prune_accounts(LIFETIME, 2).await.unwrap() > 0 {};
    prune_all().await;
    assert_eq!(harness.store.polled_feed(feed).await.unwrap(), None, "nobody follows it any more");
    assert_eq!(harness.number("SELECT count(*) FROM accounts").await, 7, "they are kept for an hour");
    harness.advance(HOUR).await;
    prune_all().await;
    assert_eq!(harness.number("SELECT count(*) FROM accounts").await, 1);
}

/// Whoever was let in before that may wait for a publisher for minutes.
async fn a1_what_is_added_after_the_removal_goes_too(harness: &Harness) {
    let ann = harness.account("ann").await;
    done(harness.store.delete_account(ann.id()).await.unwrap());
    harness.advance(Duration::from_mins(15)).await;
    harness.prune_accounts().await;
    let feed = ann.add("http://e.org/1", vec![entry("1")]).await;
    ann.store.create_folder("Mine").await.unwrap().unwrap();
    harness.advance(HOUR).await;
    harness.prune_accounts().await;
    assert_eq!(harness.store.polled_feed(feed).await.unwrap(), None, "it is polled for nobody");
    for table in ["feeds", "follows", "entries", "entry_states", "folders", "accounts WHERE id <> 1"] {
        assert_eq!(harness.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
}

async fn a4_a_session_lasts_while_it_is_used(harness: &Harness) {
    let ann = harness.account("ann").await;
    let made = ann.log_in(session(1)).await;
    assert_eq!((made.created_at, made.last_used_at), (harness.now(), harness.now()));
    assert_eq!((made.address.as_deref(), made.user_agent.as_deref()), (Some("192.0.2.1"), Some("a browser")));
    let used = async || harness.store.session(SecretHash([1; 32]), LIFETIME).await.unwrap().map(|(_, found)| found);
    assert_eq!(used().await, Some(made.clone()));
    assert_eq!(harness.session_of(2).await, None);
    harness.advance(MINUTE / 2).await;
    assert_eq!(used().await, Some(made.clone()), "once a minute at most");
    harness.advance(MINUTE).await;
    assert_eq!(used().await.unwrap().last_used_at, harness.now());
    assert_eq!(harness.store.sessions(ann.id(), LIFETIME).await.unwrap()[0].last_used_at, harness.now());
    for _ in 0..3 {
        harness.advance(DAY * 29).await;
        assert!(used().await.is_some(), "it was used within the time");
    }
    let newer = ann.log_in(session(2)).await;
    harness.advance(DAY).await;
    assert!(used().await.is_some());
    let ids = |sessions: Vec<domain::account::Session>| sessions.iter().map(|one| one.id).collect::<Vec<_>>();
    let listed = harness.store.sessions(ann.id(), LIFETIME).await.unwrap();
    assert_eq!(ids(listed), [made.id, newer.id], "the last used first");
    // To the millisecond, and the same for all who ask.
    let login = [Login::Session(SecretHash([2; 32]))];
    harness.advance((DAY * 29).saturating_sub(MILLISECOND)).await;
    assert_eq!(harness.store.live_logins(&login, LIFETIME).await.unwrap().len(), 1);
    assert_eq!(harness.store.prune_accounts(LIFETIME, 9).await.unwrap(), 0);
    harness.advance(MILLISECOND).await;
    assert_eq!(harness.store.live_logins(&login, LIFETIME).await.unwrap(), []);
    assert_eq!(harness.session_of(2).await, None);
    assert_eq!(ids(harness.store.sessions(ann.id(), LIFETIME).await.unwrap()), [made.id]);
    assert_eq!(harness.store.prune_accounts(LIFETIME, 9).await.unwrap(), 1);
    harness.advance(DAY).await;
    assert_eq!(used().await, None);
    assert_eq!(harness.store.prune_accounts(LIFETIME, 9).await.unwrap(), 1);
    assert_eq!(harness.number("SELECT count(*) FROM sessions").await, 0);
}

async fn a4_another_password_ends_other_sessions(harness: &Harness) {
    let ann = harness.account("ann").await;
    for secret in 1..=3 {
        ann.log_in(session(secret)).await;
    }
    harness.log_in(session(4)).await;
    harness.store.create_token(ann.id(), token(5)).await.unwrap();
    let kept = harness.session_of(2).await.unwrap().1;
    let patch = |kept_session| AccountPatch {
        password_hash: Some("$argon2id$".to_owned()),
        kept_session,
        ..AccountPatch::default()
    };
    let rename = AccountPatch { name: Some(name("Ann")), ..AccountPatch::default() };
    done(harness.store.update_account(ann.id(), rename).await.unwrap());
    assert!(harness.session_of(1).await.is_some(), "another name ends none");
    done(harness.store.update_account(ann.id(), patch(Some(kept))).await.unwrap());
    assert_eq!((harness.session_of(1).await, harness.session_of(3).await), (None, None));
    assert_eq!(harness.session_of(2).await, Some((ann.id(), kept)));
    assert!(harness.session_of(4).await.is_some() && harness.token_of(5).await.is_some());
    done(harness.store.update_account(ann.id(), patch(None)).await.unwrap());
    assert_eq!(harness.session_of(2).await, None);
}

/// What a login gives an app is the same each time, also after it has expired.
async fn a4_a_session_that_was_not_pruned_yet_begins_anew(harness: &Harness) {
    let ann = harness.account("ann").await;
    let first = ann.log_in(app_session(1)).await;
    harness.advance(LIFETIME + HOUR).await;
    assert_eq!(harness.session_of(1).await, None);
    let (address, user_agent) = (Some("192.0.2.2".to_owned()), None);
    let again = ann.log_in(NewSession { address, user_agent, ..app_session(1) }).await;
    assert_eq!(again.id, first.id);
    assert_eq!((again.created_at, again.last_used_at), (harness.now(), harness.now()));
    assert_eq!(harness.store.sessions(ann.id(), LIFETIME).await.unwrap(), std::slice::from_ref(&again));
    assert_eq!(harness.session_of(1).await, Some((ann.id(), again.id)));
    assert_eq!((again.address.as_deref(), again.user_agent), (Some("192.0.2.2"), None));
    let strangers = harness.store.create_session(&harness.credentials().await, app_session(1)).await.unwrap();
    assert_eq!(strangers, None, "nobody takes another's");
    assert_eq!(harness.session_of(1).await, Some((ann.id(), first.id)));
}

async fn a4_a_login_that_began_before_a_new_password_is_none(harness: &Harness) {
    let ann = harness.account("ann").await;
    let change = |password: &str| AccountPatch { password_hash: Some(password.to_owned()), ..AccountPatch::default() };
    let none = ann.credentials().await;
    done(harness.store.update_account(ann.id(), change("$first$")).await.unwrap());
    let first = ann.credentials().await;
    ann.log_in(session(1)).await;
    done(harness.store.update_account(ann.id(), change("$second$")).await.unwrap());
    for (old, new) in [(&none, session(2)), (&first, session(3)), (&first, app_session(4))] {
        assert_eq!(harness.store.create_session(old, new).await.unwrap(), None);
    }
    ann.log_in(app_session(4)).await;
    let second = ann.credentials().await;
    done(harness.store.delete_account(ann.id()).await.unwrap());
    assert_eq!(harness.store.create_session(&second, session(5)).await.unwrap(), None, "it is removed");
    assert_eq!(harness.number("SELECT count(*) FROM sessions").await, 0);
}

async fn a4_what_was_ended_of_apps_is_not_given_again(harness: &Harness) {
    let ann = harness.account("ann").await;
    let ended = async || ann.credentials().await.app_sessions_ended;
    let (browser, app) = (ann.log_in(session(1)).await, ann.log_in(app_session(2)).await);
    let before = ann.credentials().await;
    assert!(harness.store.delete_session(ann.id(), browser.id).await.unwrap());
    assert!(!harness.store.delete_session(READER, app.id).await.unwrap());
    assert_eq!(ended().await, before.app_sessions_ended, "no session of its apps");
    assert!(harness.store.delete_session(ann.id(), app.id).await.unwrap());
    assert_eq!(ended().await, before.app_sessions_ended + 1);
    assert!(!harness.store.delete_session(ann.id(), app.id).await.unwrap());
    assert_eq!(ended().await, before.app_sessions_ended + 1);
    // A login that was under way makes what was ended: it is none. That of a browser has a secret of its own.
    assert_eq!(harness.store.create_session(&before, app_session(2)).await.unwrap(), None);
    assert!(harness.store.create_session(&before, session(3)).await.unwrap().is_some());
    ann.log_in(app_session(4)).await;
    assert_eq!(harness.credentials().await.app_sessions_ended, 0, "others have their own");
}

async fn a5_a_token_serves_until_it_ends(harness: &Harness) {
    let ann = harness.account("ann").await;
    let expires_at = Some(harness.now() + DAY);
    let ending = NewToken { expires_at, scope: TokenScope::Read, ..token(1) };
    let made = harness.store.create_token(ann.id(), ending).await.unwrap();
    assert_eq!((made.name.as_str(), made.scope), ("token 1", TokenScope::Read));
    assert_eq!((made.created_at, made.last_used_at, made.expires_at), (harness.now(), None, expires_at));
    let lasting = harness.store.create_token(ann.id(), token(2)).await.unwrap();
    assert_eq!(harness.store.tokens(ann.id()).await.unwrap(), [made.clone(), lasting.clone()]);
    let used = async |secret: u8| harness.store.token(SecretHash([secret; 32])).await.unwrap().map(|(_, found)| found);
    assert_eq!(used(3).await, None);
    let first = harness.now();
    assert_eq!(used(1).await.unwrap().last_used_at, Some(first));
    harness.advance(MINUTE / 2).await;
    assert_eq!(used(101).await.unwrap().last_used_at, Some(first), "Fever's key; once a minute at most");
    harness.advance(MINUTE).await;
    assert_eq!(used(101).await.unwrap().last_used_at, Some(harness.now()));
    assert_eq!(harness.store.tokens(ann.id()).await.unwrap()[0].last_used_at, Some(harness.now()));
    harness.advance(DAY.saturating_sub(MINUTE + MINUTE / 2)).await;
    assert_eq!((used(1).await, used(101).await), (None, None), "it has ended");
    assert!(used(2).await.is_some());
    assert_eq!(harness.store.tokens(ann.id()).await.unwrap().len(), 2, "still listed");
    assert_eq!(harness.store.prune_accounts(LIFETIME, 9).await.unwrap(), 0);
    harness.advance(LIFETIME).await;
    assert_eq!(harness.store.prune_accounts(LIFETIME, 9).await.unwrap(), 1);
    assert_eq!(harness.store.tokens(ann.id()).await.unwrap()[0].id, lasting.id);
    // Sessions and tokens go in pieces, together.
    for secret in 10..13 {
        ann.log_in(session(secret)).await;
        let ending = NewToken { expires_at: Some(harness.now()), ..token(secret) };
        harness.store.create_token(ann.id(), ending).await.unwrap();
    }
    harness.advance(LIFETIME).await;
    assert_eq!(harness.store.prune_accounts(LIFETIME, 4).await.unwrap(), 4);
    assert_eq!(harness.store.prune_accounts(LIFETIME, 4).await.unwrap(), 2);
}

async fn a5_sessions_and_tokens_are_their_accounts(harness: &Harness) {
    let ann = harness.account("ann").await;
    let (login, key) =
        (ann.log_in(session(1)).await.id, harness.store.create_token(ann.id(), token(2)).await.unwrap().id);
    assert_eq!(harness.store.sessions(READER, LIFETIME).await.unwrap(), []);
    assert_eq!(harness.store.tokens(READER).await.unwrap(), []);
    assert!(!harness.store.delete_session(READER, login).await.unwrap());
    assert!(!harness.store.delete_token(READER, key).await.unwrap());
    assert_eq!(harness.session_of(1).await, Some((ann.id(), login)));
    assert_eq!(harness.token_of(102).await, Some((ann.id(), key)));
    assert!(harness.store.delete_session(ann.id(), login).await.unwrap());
    assert!(harness.store.delete_token(ann.id(), key).await.unwrap());
    assert_eq!(
        (harness.session_of(1).await, harness.token_of(2).await, harness.token_of(102).await),
        (None, None, None)
    );
    assert!(!harness.store.delete_session(ann.id(), login).await.unwrap());
    assert!(!harness.store.delete_token(ann.id(), key).await.unwrap());
}

async fn u2_live_logins_are_those_that_hold(harness: &Harness) {
    let ann = harness.account("ann").await;
    let store = &harness.store;
    let of = async |logins: &[Login]| {
        let live = store.live_logins(logins, LIFETIME).await.unwrap();
        live.into_iter().map(|(login, account)| (login, account.id)).collect::<Vec<_>>()
    };
    let made = ann.log_in(session(1)).await;
    store.create_token(READER, token(2)).await.unwrap();
    let by_session = Login::Session(SecretHash([1; 32]));
    let by_token = Login::Token(SecretHash([2; 32]));
    let by_name = Login::Account(ann.id());
    let unknown =
        [Login::Session(SecretHash([2; 32])), Login::Token(SecretHash([1; 32])), Login::Account(AccountId(99))];
    let all: Vec<Login> = unknown.into_iter().chain([by_session, by_token, by_name]).collect();
    assert_eq!(of(&[]).await, []);
    assert_eq!(of(&all).await, [(by_session, ann.id()), (by_token, READER), (by_name, ann.id())]);
    assert!(store.delete_session(ann.id(), made.id).await.unwrap());
    assert_eq!(of(&all).await, [(by_token, READER), (by_name, ann.id())]);
    store.delete_account(ann.id()).await.unwrap();
    assert_eq!(of(&all).await, [(by_token, READER)]);
}
