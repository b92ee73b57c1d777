//! D10: what is kept of each attempt.

use std::time::Duration;

use domain::delivery::{
    ANSWER_BYTES_MAX, ATTEMPTS_KEPT_MAX, Attempt, AttemptLog, AttemptOutcome, Verdict, WebhookPatch,
};

use super::{
    Harness,
    given::HOUR,
    given_outbox::{RETRY, SECOND, finished},
};

contract! {
    d10_each_attempt_is_kept,
    d10_an_answer_is_cut_and_cleaned,
    d10_the_last_attempts_are_kept,
}

async fn d10_each_attempt_is_kept(harness: &Harness) {
    let (_, queued, job) = harness.one_claimed().await;
    harness.advance(SECOND * 3).await;
    let unanswered = AttemptLog {
        number: 1,
        duration: Duration::from_millis(2500),
        status_code: None,
        answer: None,
        error: Some("no answer".to_owned()),
    };
    harness.mark(vec![AttemptOutcome { attempt: unanswered, ..finished(&job, Verdict::Retry(Duration::ZERO)) }]).await;
    let first = harness.now() - Duration::from_millis(2500);
    assert_eq!(harness.shown(&queued.id).await.last_error.as_deref(), Some("no answer"));
    assert_eq!(harness.shown(&queued.id).await.last_status_code, None);
    harness.advance(SECOND).await;
    let job = harness.take_one("worker").await;
    let answered = AttemptLog {
        number: 2,
        duration: Duration::ZERO,
        status_code: Some(204),
        answer: Some(String::new()),
        error: None,
    };
    harness.mark(vec![AttemptOutcome { attempt: answered, ..finished(&job, Verdict::Delivered) }]).await;
    let (number, at, duration_ms) = (1, first, 2500);
    let error = Some("no answer".to_owned());
    assert_eq!(
        harness.attempts(&queued.id).await,
        [
            Attempt { number, at, duration_ms, status_code: None, answer: None, error },
            Attempt {
                number: 2,
                at: harness.now(),
                duration_ms: 0,
                status_code: Some(204),
                answer: Some(String::new()),
                error: None
            },
        ]
    );
}

async fn d10_an_answer_is_cut_and_cleaned(harness: &Harness) {
    let (_, queued, job) = harness.one_claimed().await;
    // The last byte that fits would be half of a letter.
    let answer = format!("{}ä and more", "x".repeat(ANSWER_BYTES_MAX - 1));
    let log = AttemptLog {
        number: 1,
        status_code: Some(500),
        answer: Some(answer),
        error: Some(format!("a\0b{}", "y".repeat(100_000))),
        ..AttemptLog::default()
    };
    harness.mark(vec![AttemptOutcome { attempt: log, ..finished(&job, RETRY) }]).await;
    let kept = harness.attempts(&queued.id).await.remove(0);
    assert_eq!(kept.answer, Some("x".repeat(ANSWER_BYTES_MAX - 1)));
    let error = kept.error.unwrap();
    assert!(error.starts_with("aby") && error.len() <= 1024, "{error}");
    assert_eq!(harness.shown(&queued.id).await.last_error, Some(error));
}

async fn d10_the_last_attempts_are_kept(harness: &Harness) {
    let (webhook, queued, first) = harness.one_claimed().await;
    harness.end(&first, Verdict::Retry(Duration::ZERO)).await;
    let beyond = 5;
    for _ in 1..ATTEMPTS_KEPT_MAX + beyond {
        harness.advance(HOUR).await;
        let job = harness.take_one("worker").await;
        let marks = harness.mark(vec![finished(&job, Verdict::Retry(Duration::ZERO))]).await;
        if !marks.disabled.is_empty() {
            let patch = WebhookPatch { enabled: Some(true), ..Default::default() };
            harness.store.update_webhook(webhook, patch).await.unwrap();
        }
    }
    let kept = harness.attempts(&queued.id).await;
    assert_eq!(kept.len(), usize::try_from(ATTEMPTS_KEPT_MAX).unwrap());
    let times: Vec<_> = kept.iter().map(|attempt| attempt.at).collect();
    assert!(times.is_sorted() && times.last() == Some(&(harness.now() - Duration::from_millis(20))), "the first first");
    assert_eq!(times[0] + HOUR * (ATTEMPTS_KEPT_MAX - 1), *times.last().unwrap());
}
