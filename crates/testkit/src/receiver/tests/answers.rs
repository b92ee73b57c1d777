//! Which answer is given when, and those that are proper HTTP.

use std::{collections::HashMap, time::Duration};

use super::*;
use crate::Gate;

#[tokio::test]
async fn it_answers_with_statuses_headers_and_text() {
    let receiver = Receiver::start().await;
    let elsewhere = receiver.url("/elsewhere");
    let date = "2026-11-16T08:49:37Z".parse().unwrap();
    let cases = [
        (Answer::ok(), 200, None, ""),
        (Answer::status(410), 410, None, ""),
        (Answer::status(429).with_retry_after(120), 429, Some(("retry-after", "120")), ""),
        (Answer::status(503).with_retry_at(date), 503, Some(("retry-after", "Mon, 16 Nov 2026 08:49:37 GMT")), ""),
        (Answer::redirect(302, &elsewhere), 302, Some(("location", elsewhere.as_str())), ""),
        (Answer::body("too late").with_status(500), 500, Some(("content-length", "8")), "too late"),
    ];
    for (answer, status, header, text) in cases {
        receiver.answer("/hook", answer);
        let got = ask(&receiver, "/hook").await;
        assert_eq!((got.status, got.text().as_str()), (status, text));
        if let Some((name, value)) = header {
            assert_eq!(got.header(name), Some(value));
        }
    }
    assert_eq!(receiver.receipts("/elsewhere").count(), 0);
}

#[tokio::test]
async fn the_next_answers_go_before_the_script_on_their_path_alone() {
    let receiver = Receiver::start().await;
    receiver.answer("/a", Answer::status(202));
    receiver.answer_next("/a", [Answer::status(500), Answer::status(503)]);
    let mut statuses = Vec::new();
    for path in ["/b", "/a", "/a", "/a", "/a"] {
        statuses.push(ask(&receiver, path).await.status);
    }
    assert_eq!(statuses, [200, 500, 503, 202, 202]);
}

#[tokio::test]
async fn it_answers_by_what_it_was_sent() {
    let receiver = Receiver::start().await;
    let mut places = HashMap::new();
    receiver.answer_by("/hook", move |receipt| {
        let next = places.len() + 1;
        let place = *places.entry(receipt.event_id().to_owned()).or_insert(next);
        let is_refused = place % 3 == 0 && receipt.attempt() <= Some(2);
        Answer::status(if is_refused { 500 } else { 200 })
    });
    let mut refused = Vec::new();
    for event in 1..=6 {
        for attempt in 1..=3 {
            let sent = Sent::new(&format!("evt_{event}")).attempt(attempt);
            if sent.to(&receiver.url("/hook")).await.status == 500 {
                refused.push((event, attempt));
            }
        }
    }
    assert_eq!(refused, [(3, 1), (3, 2), (6, 1), (6, 2)]);
}

#[tokio::test]
async fn an_answer_waits_behind_a_gate_and_others_do_not() {
    let receiver = Receiver::start().await;
    let gate = Gate::default();
    receiver.answer("/held", Answer::status(202).behind(&gate));
    let opening = async {
        receiver.receipts("/held").wait_for(2).await;
        assert_eq!(receiver.in_flight("/held"), 2);
        assert_eq!(ask(&receiver, "/other").await.status, 200);
        assert_eq!(receiver.in_flight("/held"), 2);
        gate.open();
    };
    let (one, two, ()) = tokio::join!(ask(&receiver, "/held"), ask(&receiver, "/held"), opening);
    assert_eq!((one.status, two.status), (202, 202));
}

#[tokio::test]
async fn a_slow_answer_is_overtaken() {
    let receiver = Receiver::start().await;
    // Longer than any machine takes for the other one, and as short as can be: it is slow, but it comes.
    for (delay, is_waited_for) in [(Duration::from_hours(1), false), (Duration::from_millis(1), true)] {
        receiver.answer("/slow", Answer::status(202).delay(delay));
        let slow = ask(&receiver, "/slow");
        let quick = async {
            receiver.receipts("/slow").wait_for(1).await;
            assert_eq!(ask(&receiver, "/quick").await.status, 200);
            if is_waited_for {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            answer = slow => assert_eq!((answer.status, is_waited_for), (202, true)),
            () = quick => assert_eq!(receiver.in_flight("/slow"), 1),
        }
    }
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let receiver = Receiver::start().await;
    receiver.answer_next("/hook", [Answer::body("one"), Answer::huge(3), Answer::drip("abc", Duration::ZERO)]);
    let mut stream = asked(&receiver, "/hook").await;
    for body in ["one", "xxx", "abc"] {
        let answer = read(&mut stream, 3).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(body), "{answer}");
        assert_eq!(receiver.in_flight("/hook"), 0, "who has the answer is not in flight any more");
        write(&mut stream, "/hook").await;
    }
    read(&mut stream, 0).await;
    assert_eq!((receiver.receipts("/hook").count(), receiver.in_flight_max("/hook")), (4, 1));
    // What was said on it is told from what is said on the next, even if it is read later.
    let mut next = TcpStream::connect(receiver.address()).await.unwrap();
    let mut last = asked(&receiver, "/hook").await;
    write(&mut last, "/hook").await;
    receiver.receipts("/hook").wait_for(6).await;
    write(&mut next, "/hook").await;
    let receipts = receiver.receipts("/hook").wait_for(7).await;
    let connections: Vec<u64> = receipts.iter().map(|receipt| receipt.connection).collect();
    assert_eq!(connections, [1, 1, 1, 1, 3, 3, 2]);
}
