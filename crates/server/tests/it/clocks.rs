//! Nodes whose clocks are wrong, or are set while they run. All of them use the store's time.

use std::fs;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use testkit::http::Client;

use crate::app::{Setup, TIMEOUT, TestApp, wait_until};
use crate::console::person::{Person, browser};
use crate::postgres::Database;
use crate::redis::Redis;

const HOUR: f64 = 3_600.0;
const DAY: f64 = 24.0 * HOUR;
/// Another node leads within 15 seconds; the rest is slack for a busy machine.
const ANOTHER_LEADS_WITHIN: Duration = Duration::from_secs(25);
/// More than a clock that was not shifted differs from the store's, on one machine.
const CLOCKS_AGREE_SECS: f64 = 30.0;

/// The clock of one gateway, shifted by libfaketime. Its monotonic clock is not: no one can set that one.
struct ShiftedClock {
    folder: TempDir,
}

impl ShiftedClock {
    fn new(offset: &str) -> Self {
        let clock = Self { folder: tempfile::tempdir().unwrap() };
        clock.set(offset);
        clock
    }

    /// Sets the clock to an offset from the true time, such as `-2h`.
    fn set(&self, offset: &str) {
        let draft = self.folder.path().join("draft");
        fs::write(&draft, offset).unwrap();
        fs::rename(draft, self.folder.path().join("offset")).unwrap();
    }

    fn of(&self, setup: Setup) -> Setup {
        let file = self.folder.path().join("offset");
        // The dynamic linker replaces $LIB.
        setup
            .environment("LD_PRELOAD", "/usr/$LIB/faketime/libfaketimeMT.so.1")
            .environment("FAKETIME_TIMESTAMP_FILE", file.to_str().unwrap())
            .environment("FAKETIME_NO_CACHE", "1")
            .environment("FAKETIME_DONT_FAKE_MONOTONIC", "1")
    }
}

/// `None` if there is no such gauge yet.
async fn gauge<T: FromStr>(node: &TestApp, name: &str) -> Option<T> {
    let text = Client::new(node.forebay.ops).get("/metrics").await.text();
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.parse().ok()
}

async fn leads(node: &TestApp) -> bool {
    gauge(node, "forebay_leader").await == Some(1)
}

/// Waits until the node's clock is about `seconds` ahead of the store's, which proves that it is shifted.
async fn clock_is_ahead(node: &TestApp, seconds: f64) {
    wait_until("the clock is shifted (is libfaketime installed?)", TIMEOUT, async || {
        let ahead: Option<f64> = gauge(node, "forebay_clock_skew_seconds").await;
        ahead.is_some_and(|ahead| (ahead - seconds).abs() < CLOCKS_AGREE_SECS)
    })
    .await;
}

fn now_millis() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_leads_after_all_clocks_were_set_back() {
    let database = Database::migrated().await;
    let setup = || TestApp::setup().store(&database.url);
    let mut leader = setup().start().await;
    wait_until("the first node leads", TIMEOUT, async || leads(&leader).await).await;
    let clocks = [ShiftedClock::new("+0"), ShiftedClock::new("+0")];
    let (second, third) =
        tokio::join!(clocks[0].of(setup()).start_beside(&leader), clocks[1].of(setup()).start_beside(&leader));
    for node in [&second, &third] {
        clock_is_ahead(node, 0.0).await;
    }

    leader.forebay.child.kill();
    clocks.iter().for_each(|clock| clock.set("-2h"));
    wait_until("another node leads", ANOTHER_LEADS_WITHIN, async || leads(&second).await || leads(&third).await).await;
    for node in [&second, &third] {
        clock_is_ahead(node, -2.0 * HOUR).await;
    }
    drop((leader, second, third));
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_with_wrong_clocks_count_each_other_and_share_the_limits() {
    let (database, mut redis) = (Database::migrated().await, Redis::start().await);
    let setup = || {
        let limits = format!("[limits]\nurl = \"{}\"\ntimeout = \"2s\"", redis.url());
        TestApp::setup().store(&database.url).table(&limits).workspace_limits(60, 1_000_000, 1_000_000)
    };
    let (ahead, behind) = (ShiftedClock::new("+10m"), ShiftedClock::new("-10m"));
    let first = ahead.of(setup()).start().await;
    let mut second = behind.of(setup()).start_beside(&first).await;
    second.key.clone_from(&first.key);
    for (node, seconds) in [(&first, 600.0), (&second, -600.0)] {
        clock_is_ahead(node, seconds).await;
        wait_until("two nodes", TIMEOUT, async || gauge(node, "forebay_alive_nodes").await == Some(2)).await;
    }

    redis.stop();
    let began = Instant::now();
    let mut served = 0;
    for node in [&first, &second] {
        for _ in 0..60 {
            served += u64::from(node.chat("hi").await.status == 200);
        }
    }
    let refilled = began.elapsed().as_secs() + 2;
    assert!((60..=60 + refilled).contains(&served), "{served} calls in {:?}", began.elapsed());
    drop((first, second));
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_wrong_uses_the_time_of_the_store() {
    let database = Database::migrated().await;
    let setup = || TestApp::setup().store(&database.url);
    let first = setup().start().await;
    let clock = ShiftedClock::new("+40d");
    let mut ahead = clock.of(setup()).start_beside(&first).await;
    ahead.key.clone_from(&first.key);
    clock_is_ahead(&ahead, 40.0 * DAY).await;

    let operator = Person::operator(&first).await;
    let elsewhere = browser(&ahead).header("cookie", &operator.cookie).get("/api/session").await;
    assert_eq!(elsewhere.status, 200, "a session that began now has not expired: {}", elsewhere.text());

    let called_at = now_millis();
    assert_eq!(ahead.chat("hi").await.status_line(), "200 OK");
    let event = first.usage(1).await.remove(0);
    let off_by = (event.started_at.millis() - called_at).abs();
    assert!(off_by < 60_000, "the call is billed {off_by} ms from when it was made");
    drop((first, ahead));
    database.remove().await;
}
