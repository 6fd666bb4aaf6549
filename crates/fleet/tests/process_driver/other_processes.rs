//! Stray processes of replicas, and processes of other programs.

use crate::helpers::{Machine, engine, is_alive, named, script, signal, wait_for};
use fleet::drivers::{Driver, Observation};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const RUN_FOREVER: &str = "exec sleep 100000";

/// A process of another program.
struct OtherProcess(Child);

impl OtherProcess {
    fn with_environment(environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new("sleep");
        command.arg("100000").stdin(Stdio::null()).envs(environment.iter().copied());
        Self(command.spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn identity(&self) -> Value {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let starttime: u64 = fields.split(' ').nth(19).unwrap().parse().unwrap();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        json!({"pid": self.pid(), "starttime": starttime, "boot": boot.trim()})
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_replica_without_a_folder_is_found_and_ended() {
    let machine = Machine::new();
    let replica = machine.start("rep_1", engine()).await.replica;
    machine.ready("rep_1").await;
    let (shim, engine) = (machine.pid_of("rep_1", "shim"), machine.pid_of("rep_1", "engine"));
    std::fs::remove_dir_all(machine.root.join("rep_1")).unwrap();
    let Some(Observation::Stray { pids }) = machine.find("rep_1").await else { panic!("it is not found") };
    assert!(pids.contains(&shim) && pids.contains(&engine), "{pids:?}");
    machine.driver.stop(&replica).await.unwrap();
    wait_for("its end", async || machine.find("rep_1").await.is_none().then_some(())).await;
    // A process that is ending has no environment any more.
    wait_for("the kernel", async || (!is_alive(shim) && !is_alive(engine)).then_some(())).await;
}

#[tokio::test]
async fn a_stray_that_ignores_sigterm_is_killed() {
    let machine = Machine::with_policy(|policy| policy.grace = Duration::from_millis(100));
    let stubborn = "trap '' TERM; echo armed; while :; do sleep 100000; done";
    let replica = machine.start("rep_1", script(stubborn)).await.replica;
    wait_for("its trap", async || machine.driver.log_tail(&replica).await.contains("armed").then_some(())).await;
    signal(machine.pid_of("rep_1", "shim"), "KILL");
    let engine = machine.pid_of("rep_1", "engine");
    std::fs::remove_dir_all(machine.root.join("rep_1")).unwrap();
    wait_for("its end", async || {
        machine.driver.stop(&replica).await.unwrap();
        machine.find("rep_1").await.is_none().then_some(())
    })
    .await;
    wait_for("the kernel", async || (!is_alive(engine)).then_some(())).await;
}

#[tokio::test]
async fn a_replica_whose_shim_was_killed_continues_and_can_be_stopped() {
    let machine = Machine::new();
    let replica = machine.start("rep_1", engine()).await.replica;
    machine.ready("rep_1").await;
    let pid = machine.running("rep_1").await.pid;
    signal(machine.pid_of("rep_1", "shim"), "KILL");
    let running =
        wait_for("the shim's end", async || Some(machine.running("rep_1").await).filter(|running| !running.supervised));
    assert_eq!(running.await.pid, pid);
    machine.driver.stop(&replica).await.unwrap();
    let found = wait_for("its end", async || {
        machine.find("rep_1").await.filter(|observation| !matches!(observation, Observation::Running(_)))
    });
    assert!(matches!(found.await, Observation::Lost { last_seen: Some(_) }));
    wait_for("the kernel", async || (!is_alive(pid)).then_some(())).await;
}

#[tokio::test]
async fn a_process_with_the_reused_id_of_a_replica_is_not_touched() {
    let machine = Machine::new();
    let replica = machine.start("rep_1", script("exit 0")).await.replica;
    machine.exit("rep_1").await;
    std::fs::remove_file(machine.file("rep_1", "exit.json")).unwrap();
    let other = OtherProcess::with_environment(&[]);
    let mut earlier = other.identity();
    earlier["starttime"] = json!(earlier["starttime"].as_u64().unwrap() - 1);
    // The identity of the shim is that of this process, but its environment has no marks of our shim.
    let pids = json!({"shim": other.identity(), "engine": earlier, "time": "2026-01-01T00:00:00Z"});
    std::fs::write(machine.file("rep_1", "pids.json"), pids.to_string()).unwrap();
    assert!(matches!(machine.find("rep_1").await, Some(Observation::Lost { last_seen: Some(_) })));
    machine.driver.stop(&replica).await.unwrap();
    machine.driver.stop_all().await.unwrap();
    assert!(is_alive(other.pid()));
}

#[tokio::test]
async fn replicas_of_another_gateway_are_not_touched() {
    let (machine, other) = (Machine::new(), Machine::new());
    other.start("rep_1", script(RUN_FOREVER)).await;
    let elsewhere = other.root.join("rep_2");
    let marks = [("GW_REPLICA_ID", "rep_2"), ("GW_REPLICA_DIR", elsewhere.to_str().unwrap())];
    let stray_of_other = OtherProcess::with_environment(&marks);
    let half_marked = OtherProcess::with_environment(&[("GW_REPLICA_ID", "rep_1")]);
    assert_eq!(machine.driver.list().await.unwrap(), []);
    for name in ["rep_1", "rep_2"] {
        machine.driver.stop(&named(name)).await.unwrap();
    }
    machine.driver.stop_all().await.unwrap();
    assert!(is_alive(stray_of_other.pid()) && is_alive(half_marked.pid()));
    other.running("rep_1").await;
    assert!(matches!(other.find("rep_2").await, Some(Observation::Stray { .. })));
}
