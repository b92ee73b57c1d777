//! What the receiver keeps of what it was sent.

use super::*;

#[tokio::test]
async fn receipts_are_kept_by_path_in_order() {
    let receiver = Receiver::start().await;
    for (path, id, attempt) in [("/a", "evt_1", 1), ("/b?x=1", "evt_1", 1), ("/a", "evt_1", 2), ("/a", "evt_2", 1)] {
        Sent::new(id).attempt(attempt).to(&receiver.url(path)).await;
    }
    let seen = |receipts: &[Receipt]| -> Vec<_> {
        receipts.iter().map(|got| (got.number, got.event_id().to_owned(), got.attempt().unwrap())).collect()
    };
    let receipts = receiver.receipts("/a").wait_for(3).await;
    assert_eq!(seen(&receipts), [(1, "evt_1".into(), 1), (3, "evt_1".into(), 2), (4, "evt_2".into(), 1)]);
    assert!(receipts.is_sorted_by_key(|receipt| receipt.at));
    assert_eq!(seen(&receiver.receipts("/b?x=1").all()), [(2, "evt_1".into(), 1)]);
    assert!(receiver.receipts("/b").all().is_empty());

    let receipt = &receipts[0];
    assert_eq!((receipt.header("content-type"), receipt.text().as_str()), (Some("application/json"), BODY));
    assert_eq!((receipt.http.method.as_str(), receipt.is_verified), ("POST", None));
    assert!(receipt.is_keyed_by_event());
    let shown = format!("{receipt:?}");
    assert!(shown.contains("evt_1") && !shown.contains("created"), "{shown}");
}

#[tokio::test]
async fn a_key_that_is_not_the_event_is_seen() {
    let receiver = Receiver::start().await;
    let other = [("webhook-id", "evt_1"), ("Idempotency-Key", "evt_2")];
    for headers in [other.as_slice(), &other[..1]] {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        client::send("POST", &receiver.url("/hook"), &headers, b"{}", None).await;
    }
    let receipts = receiver.receipts("/hook").all();
    assert_eq!(receipts.iter().map(Receipt::is_keyed_by_event).collect::<Vec<_>>(), [false, false]);
    assert_eq!((receipts[0].attempt(), receipts[0].timestamp()), (None, None));
}

#[tokio::test]
async fn d3_what_we_sign_is_verified_by_the_public_library() {
    let receiver = Receiver::start().await;
    let (right, wrong) = (secret(1), secret(2));
    receiver.expect_secret("/hook", &right.expose());
    let url = receiver.url("/hook");
    let sent = Sent::new("evt_1").signed_with(&[&right]);
    sent.to(&url).await;
    sent.with_body(&url, &BODY.replace("created", "updated")).await;
    Sent { id: "evt_2".to_owned(), ..sent.clone() }.to(&url).await;
    sent.clone().signed_with(&[&wrong]).to(&url).await;
    sent.clone().signed_with(&[]).to(&url).await;
    let receipts = receiver.receipts("/hook").all();
    let verified: Vec<_> = receipts.iter().map(|receipt| receipt.is_verified.unwrap()).collect();
    assert_eq!(verified, [true, false, true, false, false]);
    assert_eq!(receiver.receipts("/hook").forged(), 3);
}

#[tokio::test]
async fn d1_while_a_secret_is_changed_either_verifies() {
    let receiver = Receiver::start().await;
    let (old, new, other) = (secret(1), secret(2), secret(3));
    let url = receiver.url("/hook");
    let both = Sent::new("evt_1").signed_with(&[&new, &old]);
    for (known, verified) in [(&old, true), (&new, true), (&other, false)] {
        receiver.forget_secrets("/hook");
        receiver.expect_secret("/hook", &known.expose());
        both.to(&url).await;
        assert_eq!(receiver.receipts("/hook").all().pop().unwrap().is_verified, Some(verified));
    }
    receiver.expect_secret("/hook", &new.expose());
    both.clone().signed_with(&[&new]).to(&url).await;
    let receipt = receiver.receipts("/hook").all().pop().unwrap();
    assert_eq!(receipt.is_verified, Some(true), "by one of the two that it knows");
    assert_eq!([&old, &new].map(|secret| receipt.is_signed_with(&secret.expose())), [false, true]);
}

#[tokio::test]
async fn d3_an_old_signature_is_good_only_if_age_is_ignored() {
    let receiver = Receiver::start().await;
    let right = secret(1);
    receiver.expect_secret("/hook", &right.expose());
    let url = receiver.url("/hook");
    let old = Sent::new("evt_1").signed_with(&[&right]).at(1_000_000_000);
    old.to(&url).await;
    receiver.ignore_age();
    old.to(&url).await;
    old.with_body(&url, "{}").await;
    let receipts = receiver.receipts("/hook").all();
    let verified: Vec<_> = receipts.iter().map(|receipt| receipt.is_verified.unwrap()).collect();
    assert_eq!(verified, [false, true, false]);
    assert_eq!(receipts[1].timestamp(), Some(1_000_000_000));
}

#[tokio::test]
async fn one_that_only_counts_keeps_nothing_and_still_answers() {
    let receiver = Receiver::start().await;
    receiver.record(false);
    receiver.answer_by("/hook", |receipt| Answer::body(receipt.event_id()));
    for id in ["evt_1", "evt_2"] {
        assert_eq!(Sent::new(id).to(&receiver.url("/hook")).await.text(), id);
    }
    receiver.answer_others_by(|_| Answer::status(418));
    assert_eq!(Sent::new("evt_1").to(&receiver.url("/other")).await.status, 418);
    let receipts = receiver.receipts("/hook");
    assert!(receipts.wait_for(2).await.is_empty());
    receiver.record(true);
    ask(&receiver, "/hook").await;
    let kept = receipts.wait_until("one that is kept", |kept| kept.len() == 1).await;
    assert_eq!((kept[0].number, receipts.count()), (4, 3));
}

#[tokio::test]
async fn a_body_may_come_in_chunks_and_is_bounded() {
    let receiver = Receiver::start().await;
    let chunked = "POST /hook HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let mut stream = TcpStream::connect(receiver.address()).await.unwrap();
    for count in 1..=2 {
        stream.write_all(chunked.as_bytes()).await.unwrap();
        read(&mut stream, 0).await;
        assert_eq!(receiver.receipts("/hook").wait_for(count).await[count - 1].body(), b"abcde");
    }
    for too_much in ["Content-Length: 33554433\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n2000001\r\n"] {
        let mut stream = TcpStream::connect(receiver.address()).await.unwrap();
        stream.write_all(format!("POST /hook HTTP/1.1\r\n{too_much}").as_bytes()).await.unwrap();
        assert!(read(&mut stream, 0).await.starts_with("HTTP/1.1 413 "));
    }
    assert_eq!(receiver.receipts("/hook").count(), 2);
}
