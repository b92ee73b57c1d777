//! Guessing is slowed, and those who know are not.

use domain::account::{AccountName, NewAccount};
use web::WebSettings;

use super::{Cluster, PASSWORD};
use crate::server::{Answer, answer};

async fn behind_a_proxy() -> Cluster {
    let trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    // Longer than a busy machine takes for a guess.
    let guess_wait = std::time::Duration::from_mins(5);
    Cluster::locked_with(WebSettings { trusted_proxies, guess_wait, ..WebSettings::default() }).await.0
}

async fn guess(cluster: &Cluster, from: &str, name: &str, password: &str) -> Answer {
    let request = cluster.server.request("POST", "/api/session").header("x-forwarded-for", from);
    let body = serde_json::json!({ "name": name, "password": password }).to_string();
    answer(request.header("content-type", "application/json").body(body)).await
}

fn ben() -> NewAccount {
    let password_hash = web::hash_password(PASSWORD, &engine::SystemIds).unwrap();
    NewAccount { name: AccountName::parse("ben").unwrap(), password_hash: Some(password_hash), is_admin: false }
}

#[tokio::test]
async fn a4_guesses_beyond_five_wait_and_others_do_not() {
    let cluster = behind_a_proxy().await;
    for _ in 0..5 {
        guess(&cluster, "203.0.113.7", "reader", "wrong horse").await.error(401);
    }
    // Also the right one, and as long as it says.
    let slowed = guess(&cluster, "203.0.113.7", "reader", PASSWORD).await;
    assert!(slowed.error(429).contains("too many attempts"));
    assert!((1..=300).contains(&slowed.header("retry-after").parse::<u64>().unwrap()), "{slowed:?}");
    guess(&cluster, "203.0.113.8", "reader", PASSWORD).await.ok(200);
    guess(&cluster, "203.0.113.7", "nobody", "wrong horse").await.error(401);
}

#[tokio::test]
async fn a4_guesses_at_once_are_counted_at_once() {
    let cluster = behind_a_proxy().await;
    let guesses = (0..40).map(|_| guess(&cluster, "203.0.113.7", "reader", "wrong horse"));
    let answers = futures_util::future::join_all(guesses).await;
    let tried = answers.iter().filter(|answer| answer.status == 401).count();
    assert_eq!(tried, 5);
    guess(&cluster, "203.0.113.8", "reader", PASSWORD).await.ok(200);
}

#[tokio::test]
async fn a5_wrong_tokens_are_slowed_by_address_and_good_ones_are_not() {
    let guess_wait = std::time::Duration::from_mins(5);
    let (cluster, cookie) = Cluster::locked_with(WebSettings { guess_wait, ..WebSettings::default() }).await;
    let token = cluster.token(&cookie, "read").await;
    cluster.with_token(&token, "GET", "/api/folders", &serde_json::Value::Null).await.ok(200);
    let never_used = cluster.token(&cookie, "read").await;
    let wrong = serde_json::json!({ "token": format!("pir_{}", "A".repeat(43)) });
    let mut statuses = Vec::new();
    for _ in 0..25 {
        statuses.push(cluster.with_token(&wrong, "GET", "/api/folders", &serde_json::Value::Null).await.status);
    }
    assert!(statuses[..20].iter().all(|status| *status == 401) && statuses.contains(&429), "{statuses:?}");
    for good in [token, never_used] {
        cluster.with_token(&good, "GET", "/api/folders", &serde_json::Value::Null).await.ok(200);
    }
}

#[tokio::test]
async fn a4_an_attack_from_many_addresses_is_hardly_tried() {
    const ADDRESSES: usize = 20;
    const EACH: usize = 20;
    let cluster = behind_a_proxy().await;
    let attack = (0..ADDRESSES).map(async |number| {
        let from = format!("198.51.100.{number}");
        let mut statuses = Vec::new();
        for _ in 0..EACH {
            statuses.push(guess(&cluster, &from, "reader", "wrong horse").await.status);
        }
        statuses
    });
    // Meanwhile somebody else comes in, and so does the one whose password is guessed.
    let meanwhile = async {
        cluster.store.create_account(ben()).await.unwrap().unwrap();
        for _ in 0..3 {
            guess(&cluster, "203.0.113.7", "ben", PASSWORD).await.ok(200);
            guess(&cluster, "203.0.113.8", "reader", PASSWORD).await.ok(200);
        }
    };
    let (statuses, ()) = futures_util::join!(futures_util::future::join_all(attack), meanwhile);
    let count = |wanted: u16| statuses.iter().flatten().filter(|status| **status == wanted).count();
    assert_eq!(count(401) + count(429), ADDRESSES * EACH, "{statuses:?}");
    // Five each would be a hundred, but from the fiftieth on the account makes those wait who have failed.
    assert!((50..=100).contains(&count(401)), "{} were tried", count(401));
}
