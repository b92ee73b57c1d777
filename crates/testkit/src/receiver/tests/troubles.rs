//! Answers that no server should give.

use std::{io::ErrorKind, time::Duration};

use super::*;

/// Longer than any test.
const NEVER: Duration = Duration::from_hours(1);

/// All that comes before the end of the connection.
async fn read_all(mut stream: TcpStream) -> std::io::Result<Vec<u8>> {
    let mut read = Vec::new();
    stream.read_to_end(&mut read).await.map(|_| read)
}

#[tokio::test]
async fn it_resets_closes_breaks_off_and_talks_nonsense() {
    let receiver = Receiver::start().await;
    let answers = [
        Answer::reset(),
        Answer::close(),
        Answer::garbage(b"\x16\x03\x01 no HTTP".as_slice()),
        Answer::break_off("half"),
    ];
    receiver.answer_next("/hook", answers);
    let reset = read_all(asked(&receiver, "/hook").await).await.unwrap_err();
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    assert_eq!(read_all(asked(&receiver, "/hook").await).await.unwrap(), b"");
    assert_eq!(read_all(asked(&receiver, "/hook").await).await.unwrap(), b"\x16\x03\x01 no HTTP");
    let half = read_all(asked(&receiver, "/hook").await).await.unwrap();
    assert!(half.ends_with(b"Content-Length: 1004\r\n\r\nhalf"), "{half:?}");
    assert_eq!((receiver.receipts("/hook").count(), receiver.in_flight("/hook")), (4, 0));
}

#[tokio::test]
async fn it_hangs_until_its_client_goes_away() {
    let receiver = Receiver::start().await;
    let endless = [Answer::hang(), Answer::ok().delay(NEVER), Answer::drip("abc", NEVER), Answer::huge(1 << 40)];
    receiver.answer_next("/hook", endless);
    let mut streams = Vec::new();
    for count in 1..=4 {
        streams.push(asked(&receiver, "/hook").await);
        receiver.receipts("/hook").wait_for(count).await;
    }
    assert_eq!(receiver.in_flight("/hook"), 4);
    for in_flight in (0..4).rev() {
        streams.pop();
        receiver.wait_in_flight("/hook", in_flight).await;
    }
    assert_eq!(receiver.in_flight_max("/hook"), 4);
}

#[tokio::test]
async fn it_hangs_until_stopped_and_refuses_until_started() {
    let receiver = Receiver::start().await;
    receiver.answer_next("/hook", [Answer::hang()]);
    let stop = async {
        receiver.receipts("/hook").wait_for(1).await;
        receiver.stop().await;
    };
    let (answer, ()) = tokio::join!(ask(&receiver, "/hook"), stop);
    assert_eq!((answer.status, receiver.in_flight("/hook")), (0, 0));
    assert!(ask(&receiver, "/hook").await.error.unwrap().contains("refused"));
    receiver.restart();
    assert_eq!(ask(&receiver, "/hook").await.status, 200);
    assert_eq!(receiver.receipts("/hook").count(), 2);
}

#[tokio::test]
async fn a_huge_body_comes_as_far_as_it_is_read() {
    const HUGE_BYTES: usize = 100_000_000;
    let receiver = Receiver::start().await;
    receiver.answer("/hook", Answer::huge(100_000_000));
    let mut stream = asked(&receiver, "/hook").await;
    let head = read(&mut stream, 0).await;
    assert!(head.contains("\r\nContent-Length: 100000000\r\n"), "{head}");
    let (mut piece, mut left) = (vec![0; 1 << 20], HUGE_BYTES);
    while left > 0 {
        let got = stream.read(&mut piece[..left.min(1 << 20)]).await.unwrap();
        assert_ne!(got, 0, "{left} bytes before the end");
        left -= got;
    }
    assert_eq!(receiver.in_flight("/hook"), 0);
}

#[tokio::test]
async fn what_drips_comes_after_the_status() {
    let receiver = Receiver::start().await;
    receiver.answer("/hook", Answer::drip("abc", Duration::from_millis(1)).with_status(202));
    let answer = ask(&receiver, "/hook").await;
    assert_eq!((answer.status, answer.text().as_str()), (202, "abc"));

    receiver.answer("/hook", Answer::drip("abc", NEVER));
    let mut stream = asked(&receiver, "/hook").await;
    assert!(read(&mut stream, 0).await.starts_with("HTTP/1.1 200 "), "the head does not wait");
    assert_eq!(receiver.in_flight("/hook"), 1);
}
