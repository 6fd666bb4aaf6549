//! The hidden `replica-shim` command. The driver's own tests are in the crate `fleet`.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use domain::model::{DriverKind, Launch, Modality};
use domain::{ModelId, Timestamp};
use fleet::drivers::process::{DEFAULT_PORTS, ProcessDriver, Settings, ShimPolicy, ShimProgram};
use fleet::drivers::{Driver as _, Observation, ReplicaName, ReplicaSpec, TakenResources};
use fleet::engine::BuiltInEngine;

use crate::app::{BINARY, TIMEOUT, wait_until};

#[tokio::test]
async fn the_binary_itself_is_the_parent_of_a_replica() {
    let folder = tempfile::tempdir().unwrap();
    let driver = ProcessDriver::open(Settings {
        root: folder.path().join("replicas"),
        slots: BTreeMap::from([("local/cpu".to_owned(), 1)]),
        ports: DEFAULT_PORTS,
        built_in: BuiltInEngine { binary: "forebay-engine".into(), cache_dir: "cache".into() },
        shim: ShimProgram { program: BINARY.into(), arguments: vec!["replica-shim".into()] },
        shim_policy: ShimPolicy { grace: Duration::from_secs(5), ..ShimPolicy::default() },
        auth: fleet::drivers::ReplicaAuth::new(domain::endpoint::replica_keys::ReplicaKeys::new("secret")),
        now: || Timestamp::from_millis(0),
    });
    let driver = driver.unwrap();
    let spec = ReplicaSpec {
        replica: ReplicaName::parse("rep_1").unwrap(),
        model: ModelId::parse("dedicated/tiny").unwrap(),
        modality: Modality::Chat,
        driver: DriverKind::Process,
        launch: Launch::Argv(["sleep", "100000"].map(ToOwned::to_owned).to_vec()),
        options: domain::model::EngineOptions::default(),
        image: None,
        owner: None,
        gpu_type: "local/cpu".to_owned(),
        gpu_count: 1,
        weights: None,
        max_len: 2048,
        slots: 1,
    };
    let binding = driver.bind(&spec, &TakenResources::default()).await.unwrap();
    driver.start(&spec, &binding).await.unwrap();
    let found = driver.list().await.unwrap();
    assert!(matches!(&found[0].observation, Observation::Running(running) if running.supervised), "{found:?}");
    driver.stop(&spec.replica).await.unwrap();
    wait_until("the recorded end", TIMEOUT, async || {
        let found = driver.list().await.unwrap();
        matches!(&found[0].observation, Observation::Exited(exit) if exit.signal == Some(15) && exit.failure.is_none())
    })
    .await;
}

#[test]
fn the_command_is_hidden_from_the_help() {
    let help = Command::new(BINARY).arg("--help").output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("replica-shim"));
}
