//! The life of a replica, from its start to its recorded end.

use crate::helpers::{Machine, control_plane, engine, is_alive, named, names, now, script, signal, spec, wait_for};
use domain::Timestamp;
use domain::model::Launch;
use fleet::drivers::{Driver, Observation, PlacementError, StartError, TakenResources};
use fleet::engine::{EngineLoad, FailureClass, ProbeResult};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;
use testkit::http::Client;
use tokio::task::JoinSet;

const RUN_FOREVER: &str = "exec sleep 100000";

#[tokio::test]
async fn a_replica_becomes_ready_reports_its_load_and_drains() {
    let machine = Machine::new();
    let replica = machine.start("rep_1", engine()).await.replica;
    machine.ready("rep_1").await;
    assert_eq!(machine.driver.probe(&replica).await, ProbeResult::Healthy);
    let load = machine.driver.load(&replica).await.unwrap();
    assert_eq!(load, EngineLoad { kv_cache_usage: Some(0.0), running: Some(0.0), waiting: Some(0.0) });

    let stranger = Client::new(format!("http://{}", machine.driver.address(&replica).unwrap()));
    stranger.post_bytes("/script", r#"{"stall_after": 0}"#).await;
    let body = r#"{"model":"dedicated/tiny","messages":[{"role":"user","content":"Hi"}]}"#;
    assert_eq!(stranger.post_bytes("/v1/chat/completions", body).await.status, 401);
    let client = stranger.key(&machine.driver.key(&replica).unwrap());
    let mut calls = JoinSet::new();
    calls.spawn(async move { client.post_bytes("/v1/chat/completions", body).await });
    let started = wait_for("the call", async || {
        Some(machine.driver.drain(&replica).await.unwrap()).filter(|draining| draining.in_flight == Some(1))
    });
    let since = started.await.since;
    assert_eq!(machine.driver.drain(&replica).await.unwrap().since, since);
    assert_eq!(machine.running("rep_1").await.draining_since, Some(since));
    drop(calls);
    wait_for("an idle engine", async || {
        (machine.driver.drain(&replica).await.unwrap().in_flight == Some(0)).then_some(())
    })
    .await;

    machine.driver.undrain(&replica).await.unwrap();
    assert_eq!(machine.running("rep_1").await.draining_since, None);
    machine.driver.drain(&replica).await.unwrap();
    machine.driver.stop(&replica).await.unwrap();
    let exit = machine.exit("rep_1").await;
    assert_eq!((exit.signal, exit.failure), (Some(15), None));
}

#[tokio::test]
async fn the_exit_is_recorded_exactly() {
    let machine = Machine::new();
    let before = now();
    machine.start("rep_1", script("echo loading; echo oops >&2; exit 7")).await;
    let exit = machine.exit("rep_1").await;
    let after = now();
    assert_eq!((exit.code, exit.signal), (Some(7), None));
    let started_at = exit.started_at.unwrap();
    assert!(before <= started_at && started_at <= exit.at && exit.at <= after, "{exit:?}");
    let failure = exit.failure.unwrap();
    assert_eq!((failure.class, failure.message.as_str()), (FailureClass::Crash, "exited with code 7: oops"));
    assert_eq!(machine.driver.log_tail(&named("rep_1")).await, "loading\noops\n");
}

#[tokio::test]
async fn observations_are_dated_by_the_store() {
    fn two_hours_later() -> Timestamp {
        now().plus_millis(2 * 3_600_000)
    }
    let (machine, replica) = (Machine::with_store_time(two_hours_later), named("rep_1"));
    let before = two_hours_later().plus_millis(-1_000);
    machine.start("rep_1", script(RUN_FOREVER)).await;
    let draining = machine.driver.drain(&replica).await.unwrap();
    let running = machine.running("rep_1").await;
    machine.driver.stop(&replica).await.unwrap();
    let exit = machine.exit("rep_1").await;
    let after = two_hours_later().plus_millis(1_000);
    for at in [Some(draining.since), Some(running.started_at), running.draining_since, exit.started_at, Some(exit.at)] {
        assert!(at.is_some_and(|at| (before..=after).contains(&at)), "{at:?} is not between {before} and {after}");
    }
}

#[tokio::test]
async fn a_replica_outlives_its_gateway_and_is_adopted() {
    let machine = Machine::new();
    let mut first = control_plane(&machine.root);
    let before = wait_for("its start", async || match machine.find("rep_1").await {
        Some(Observation::Running(running)) => Some(running),
        _ => None,
    });
    let before = before.await;
    assert!(before.supervised);
    machine.ready("rep_1").await;
    first.kill().unwrap();
    first.wait().unwrap();

    let next = machine.restarted();
    assert_eq!(machine.running("rep_1").await, before);
    assert_eq!(next.probe(&named("rep_1")).await, ProbeResult::Healthy);
    assert_eq!(names(&next.list().await.unwrap()), ["rep_1"]);

    signal(before.pid, "KILL");
    let exit = machine.exit("rep_1").await;
    assert_eq!((exit.code, exit.signal, exit.started_at), (None, Some(9), Some(before.started_at)));
    assert_eq!(exit.failure.unwrap().class, FailureClass::Crash);
}

#[tokio::test]
async fn a_replica_that_never_becomes_ready_runs_until_it_is_stopped() {
    let machine = Machine::new();
    let replica = machine.start("rep_1", script(RUN_FOREVER)).await.replica;
    assert!(matches!(machine.driver.probe_start(&replica).await, ProbeResult::Unhealthy(_)));
    machine.running("rep_1").await;
    assert!(machine.driver.forget(&replica).await.is_err());
    machine.driver.stop(&replica).await.unwrap();
    assert_eq!(machine.exit("rep_1").await.failure, None);
    machine.driver.forget(&replica).await.unwrap();
    assert_eq!(machine.find("rep_1").await, None);
}

#[tokio::test]
async fn an_engine_that_ignores_sigterm_is_killed() {
    let machine = Machine::with_policy(|policy| policy.grace = Duration::from_millis(200));
    let stubborn = "trap '' TERM; echo armed; while :; do sleep 100000; done";
    let replica = machine.start("rep_1", script(stubborn)).await.replica;
    wait_for("its trap", async || machine.driver.log_tail(&replica).await.contains("armed").then_some(())).await;
    machine.driver.stop(&replica).await.unwrap();
    let exit = machine.exit("rep_1").await;
    assert_eq!((exit.signal, exit.failure), (Some(9), None));
}

#[tokio::test]
async fn no_descendant_of_an_engine_outlives_it() {
    let machine = Machine::new();
    // One in its group, one in its own session without a parent.
    let text = "here=$(mktemp -d); sleep 100000 & echo $!; \
        setsid sh -c \"echo \\$\\$; rmdir $here; exec sleep 100000\" & \
        while [ -d $here ]; do sleep 0.01; done; exit 3";
    let replica = machine.start("rep_1", script(text)).await.replica;
    assert_eq!(machine.exit("rep_1").await.code, Some(3));
    let log = machine.driver.log_tail(&replica).await;
    let pids: Vec<u32> = log.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(pids.len(), 2, "{log}");
    assert!(pids.iter().all(|&pid| !is_alive(pid)), "{pids:?}");
}

#[tokio::test]
async fn missing_weights_and_a_missing_engine_are_different_failures() {
    let machine = Machine::new();
    machine.start("rep_1", script("echo \"forebay-engine: there are no weights at $1\" >&2; exit 1")).await;
    let failure = machine.exit("rep_1").await.failure.unwrap();
    assert_eq!(failure.class, FailureClass::WeightsMissing);
    assert_eq!(failure.message, "forebay-engine: there are no weights at /nowhere/weights.gguf");

    machine.start("rep_2", Launch::Argv(vec!["/nowhere/engine".into()])).await;
    let exit = machine.exit("rep_2").await;
    assert_eq!((exit.code, exit.signal, exit.started_at), (None, None, None));
    let failure = exit.failure.unwrap();
    assert_eq!(failure.class, FailureClass::ImageMissing);
    assert!(failure.message.starts_with("cannot start /nowhere/engine: No such file"), "{}", failure.message);
}

#[tokio::test]
async fn a_taken_port_is_not_a_crash_and_the_next_block_is_used() {
    let machine = Machine::new();
    let spec = spec("rep_1", engine());
    let binding = machine.bind(&spec).await;
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, binding.port)).unwrap();
    let rejected = machine.driver.start(&spec, &binding).await;
    assert!(matches!(rejected, Err(StartError::PortTaken(port)) if port == binding.port), "{rejected:?}");
    let next = machine.bind(&spec).await;
    assert!(next.port >= binding.port + 10);
    machine.driver.start(&spec, &next).await.unwrap();
    machine.ready("rep_1").await;
    drop(other);

    // A program that takes the port between the check and the engine's own attempt shows in the engine's log.
    machine.start("rep_2", script("echo 'OSError: [Errno 98] Address already in use'; exit 1")).await;
    assert_eq!(machine.exit("rep_2").await.failure.unwrap().class, FailureClass::PortTaken);
}

#[tokio::test]
async fn slots_are_exclusive_and_a_replica_on_slots_sees_no_gpu() {
    let machine = Machine::new();
    let text = format!("echo \"$CUDA_DEVICE_ORDER|$CUDA_VISIBLE_DEVICES|$GW_REPLICA_ID|$2\"; {RUN_FOREVER}");
    let mut large = spec("rep_1", script(&text));
    large.gpu_count = 3;
    let binding = machine.bind(&large).await;
    let ids: Vec<&str> = binding.devices.iter().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["local/cpu#0", "local/cpu#1", "local/cpu#2"]);
    machine.driver.start(&large, &binding).await.unwrap();
    let expected = format!("PCI_BUS_ID||rep_1|{}\n", binding.port);
    wait_for("its log", async || (machine.driver.log_tail(&large.replica).await == expected).then_some(())).await;

    let small = spec("rep_2", script(RUN_FOREVER));
    let second = machine.bind(&small).await;
    assert_eq!(second.devices[0].as_str(), "local/cpu#3");
    assert_ne!(second.port, binding.port);
    let taken = TakenResources { devices: second.devices.into_iter().collect(), ports: [second.port].into() };
    let full = PlacementError::Devices { gpu_type: "local/cpu".into(), needed: 1, free: 0 };
    assert_eq!(machine.driver.bind(&small, &taken).await, Err(full));
    machine.driver.stop(&large.replica).await.unwrap();
    machine.exit("rep_1").await;
    assert_eq!(machine.driver.bind(&small, &taken).await.unwrap().devices[0].as_str(), "local/cpu#0");
}

#[tokio::test]
async fn a_replica_is_started_only_once() {
    let machine = Machine::new();
    let spec = machine.start("rep_1", script(RUN_FOREVER)).await;
    let pid = machine.running("rep_1").await.pid;
    let binding = machine.driver.list().await.unwrap().remove(0).binding.unwrap();
    machine.driver.start(&spec, &binding).await.unwrap();
    assert_eq!(machine.running("rep_1").await.pid, pid);
    machine.driver.stop(&spec.replica).await.unwrap();
    let exit = machine.exit("rep_1").await;
    machine.restarted().start(&spec, &binding).await.unwrap();
    assert_eq!(machine.exit("rep_1").await, exit);
}

#[tokio::test]
async fn an_interrupted_start_can_be_repeated() {
    let machine = Machine::new();
    // The gateway ended between writing the order and starting the shim.
    let spec = machine.start("rep_1", script("exit 0")).await;
    machine.exit("rep_1").await;
    for file in ["pids.json", "exit.json", "heartbeat"] {
        std::fs::remove_file(machine.file("rep_1", file)).unwrap();
    }
    assert_eq!(machine.find("rep_1").await, Some(Observation::Lost { last_seen: None }));
    let binding = machine.bind(&spec).await;
    machine.driver.start(&spec, &binding).await.unwrap();
    assert_eq!(machine.exit("rep_1").await.code, Some(0));
}

#[tokio::test]
async fn the_log_is_rotated_and_its_end_can_be_read() {
    let machine = Machine::with_policy(|policy| (policy.log_bytes, policy.kept_logs) = (20_000, 2));
    let text = "i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo \"line $i $(printf %0100d 0)\"; done; \
        until [ $(wc -c <\"$GW_REPLICA_DIR/log\") -le 20000 ]; do sleep 0.05; done; echo after; exec sleep 100000";
    let replica = machine.start("rep_1", script(text)).await.replica;
    let tail = wait_for("the last line", async || {
        Some(machine.driver.log_tail(&replica).await).filter(|tail| tail.ends_with("after\n"))
    });
    let tail = tail.await;
    assert!(tail.len() <= 4096 && tail.starts_with("line "), "{tail}");
    let kept = |file: &str| std::fs::metadata(machine.file("rep_1", file)).map_or(0, |metadata| metadata.len());
    assert!(kept("log.1") > 0 && kept("log") <= 20_000);
    assert!(!Path::new(&machine.file("rep_1", "log.3")).exists());
}
