use crate::{Backoff, Loop, Tasks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};

const HOUR: Duration = Duration::from_secs(3_600);
const SOON: Duration = Duration::from_secs(10);

async fn next(rounds: &mut mpsc::Receiver<u64>) -> u64 {
    tokio::time::timeout(SOON, rounds.recv()).await.expect("a round within ten seconds").expect("the loop runs")
}

#[tokio::test]
async fn a_loop_runs_at_once_and_on_every_nudge() {
    let tasks = Tasks::new(Handle::current());
    let (nudge, (sender, mut rounds)) = (Arc::new(Notify::new()), mpsc::channel(8));
    let mut count = 0;
    tasks.spawn(tasks.every("test", HOUR).nudged_by(Arc::clone(&nudge)).run(async move || {
        count += 1;
        sender.send(count).await
    }));
    assert_eq!(next(&mut rounds).await, 1);
    nudge.notify_one();
    assert_eq!(next(&mut rounds).await, 2);
    tasks.abort().await;
    assert_eq!(rounds.recv().await, None, "an aborted loop drops what it owns");
}

#[tokio::test]
async fn a_nudged_loop_rests_after_a_long_round() {
    const ROUND: Duration = Duration::from_millis(20);
    let tasks = Tasks::new(Handle::current());
    let (nudge, (sender, mut rounds)) = (Arc::new(Notify::new()), mpsc::channel(8));
    let again = Arc::clone(&nudge);
    let began = Instant::now();
    tasks.spawn(tasks.every("test", HOUR).nudged_by(nudge).run(async move || {
        again.notify_one();
        tokio::time::sleep(ROUND).await;
        sender.send(0).await
    }));
    for _ in 0..3 {
        next(&mut rounds).await;
    }
    assert!(began.elapsed() >= 3 * ROUND + 2 * 4 * ROUND, "three rounds and two rests");
}

#[tokio::test]
async fn a_failing_loop_backs_off_keeps_its_error_and_recovers() {
    let tasks = Tasks::new(Handle::current());
    let (sender, mut rounds) = mpsc::channel(8);
    let fails_until = Arc::new(AtomicU64::new(3));
    let (limit, mut count) = (Arc::clone(&fails_until), 0);
    let backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(4));
    tasks.spawn(tasks.every("test", HOUR).backing_off(backoff).run(async move || {
        count += 1;
        let _ = sender.send(count).await;
        if count < limit.load(Ordering::Relaxed) { Err(format!("round {count}")) } else { Ok(()) }
    }));
    assert_eq!((next(&mut rounds).await, next(&mut rounds).await), (1, 2));
    assert_eq!(next(&mut rounds).await, 3, "the backoff is shorter than the period");
    let status = loop {
        let status = tasks.loops().remove(0);
        if status.rounds == 3 {
            break status;
        }
        assert_eq!(status.last_error.as_deref(), Some("round 2"));
        tokio::task::yield_now().await;
    };
    assert_eq!((status.name, status.failures, status.last_error), ("test", 0, None));
}

#[tokio::test]
async fn finish_waits_for_tasks_that_are_started_meanwhile() {
    let tasks = Tasks::new(Handle::current());
    let (ended, inner) = (Arc::new(AtomicU64::new(0)), tasks.clone());
    let (first, second) = (Arc::clone(&ended), Arc::clone(&ended));
    tasks.spawn(async move {
        inner.spawn(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            second.fetch_add(1, Ordering::Relaxed);
        });
        first.fetch_add(1, Ordering::Relaxed);
    });
    tasks.finish().await;
    assert_eq!(ended.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_loop_without_a_period_waits_for_nudges() {
    let tasks = Tasks::new(Handle::current());
    let (nudge, (sender, mut rounds)) = (Arc::new(Notify::new()), mpsc::channel(8));
    tasks.spawn(Loop::on_nudge("test", Arc::clone(&nudge)).run(async move || sender.send(0).await));
    next(&mut rounds).await;
    assert!(tokio::time::timeout(Duration::from_millis(20), rounds.recv()).await.is_err());
    nudge.notify_one();
    next(&mut rounds).await;
}
