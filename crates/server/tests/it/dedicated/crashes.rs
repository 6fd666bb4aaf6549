//! The control plane is killed at every fault point of a create, a scale-up and a stop. The next one completes the work:
//! nothing is done twice, nothing is left behind, and every GPU-second is accounted for.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::plant::{Blueprint, KILL_AT, Plant, TIMEOUT, endpoint_body, kill};
use crate::app::wait_until;
use crate::endpoints::committed;

/// Each of these scenarios, with the process killed at each of these fault points.
macro_rules! killed {
    ($($scenario:ident)*: $points:tt) => { $(killed!(one $scenario $points);)* };
    (one $scenario:ident { $($name:ident at $point:literal)* }) => {
        mod $scenario {
            $(#[tokio::test]
            async fn $name() {
                super::$scenario($point).await;
            })*
        }
    };
}

killed! { a_create a_scale_up: {
    before_its_commit at "command-before-commit"
    before_its_response at "command-after-commit"
    with_a_replica_added at "replica-added"
    before_the_hold_is_written at "bound-before-commit"
    with_a_hold_and_no_process at "bound-after-commit"
    with_a_process_that_is_not_stored at "process-started"
    with_a_process_that_starts at "starting-written"
    before_it_is_stored_as_ready at "ready-before-commit"
    with_a_ready_replica_without_calls at "ready-after-commit"
} }

async fn a_create(point: &str) {
    let mut plant = Blueprint::new(2).killed_at(point).start().await;
    let body = Bytes::from(endpoint_body("chat", json!({"replicas": 1})).to_string());
    let keyed = |plant: &Plant| plant.client().header("idempotency-key", "once");
    // There is a response if the process is killed after it was sent.
    let first = keyed(&plant).try_send(Method::POST, "/endpoints", body.clone()).await;
    is_killed(&mut plant).await;

    plant.app.forebay.restart_with(&[]).await.unwrap();
    let again = keyed(&plant).send(Method::POST, "/endpoints", body).await;
    assert_eq!(again.status, 201, "{}", again.text());
    let was_made = point != "command-before-commit";
    assert_eq!(again.header("idempotent-replayed"), was_made.then_some("true"), "{first:?}");
    plant.wait_for("chat", "serving", 1).await;
    assert_eq!(plant.chat("chat").await.status, 200);
    let id = plant.id("chat").await;
    let created = plant.events(&id).await.iter().filter(|event| event.kind.as_str() == "endpoint.created").count();
    assert_eq!((created, committed(&plant.client()).await), (1, 1), "one endpoint, one commitment");
    assert_nothing_is_duplicated(&plant, 1).await;
    assert_everything_is_released(&plant).await;
}

async fn a_scale_up(point: &str) {
    let mut plant = Plant::start(3, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    let oldest = plant.live().await.remove(0);
    let pid = plant.pid_of(&oldest);
    plant.app.forebay.restart_with(&[(KILL_AT, point)]).await.unwrap();
    let change = Bytes::from(json!({"replicas": 2}).to_string());
    let _ = plant.client().try_send(Method::PATCH, "/endpoints/chat", change.clone()).await;
    is_killed(&mut plant).await;

    plant.app.forebay.restart_with(&[]).await.unwrap();
    let again = plant.client().send(Method::PATCH, "/endpoints/chat", change).await;
    assert_eq!(again.status, 200, "{}", again.text());
    plant.wait_for("chat", "serving", 2).await;
    assert_eq!(committed(&plant.client()).await, 2);
    assert_eq!(plant.pid_of(&oldest), pid, "the first replica keeps serving");
    assert_nothing_is_duplicated(&plant, 2).await;
    assert_everything_is_released(&plant).await;
}

killed! { a_stop: {
    before_its_commit at "command-before-commit"
    before_its_response at "command-after-commit"
    with_a_replica_that_drains at "drain-begun"
    with_a_replica_that_has_drained at "drained-before-stop"
    with_a_stopped_replica at "stopped"
    before_its_end_is_written at "ended-before-commit"
    with_its_end_written at "ended-after-commit"
} }

async fn a_stop(point: &str) {
    let mut plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 1})).await;
    plant.wait_for("chat", "serving", 1).await;
    plant.app.forebay.restart_with(&[(KILL_AT, point)]).await.unwrap();
    let _ = plant.client().try_send(Method::POST, "/endpoints/chat/suspend", Bytes::new()).await;
    is_killed(&mut plant).await;

    plant.app.forebay.restart_with(&[]).await.unwrap();
    plant.suspend("chat").await;
    assert_eq!(committed(&plant.client()).await, 0, "released at once");
    wait_until("released", TIMEOUT, async || plant.open_holds().await == 0).await;
    assert_eq!((plant.live().await.len(), plant.running().len()), (0, 0));
    plant.resume("chat").await;
    plant.wait_for("chat", "serving", 1).await;
    assert_eq!(plant.replicas(&plant.id("chat").await).await.len(), 2, "the first one and its successor");
    assert_everything_is_released(&plant).await;
}

#[tokio::test]
async fn an_exit_during_a_downtime_is_known_to_the_millisecond() {
    let mut plant = Plant::start(3, "").await;
    plant.create("chat", json!({"replicas": 2})).await;
    plant.wait_for("chat", "serving", 2).await;
    let live = plant.live().await;
    let pids = [plant.pid_of(&live[0]), plant.pid_of(&live[1])];
    plant.app.forebay.child.kill();
    kill(pids[0], "KILL");
    let exit = plant.app.forebay.data_dir.join("replicas").join(live[0].id.as_str()).join("exit.json");
    wait_until("its exit is recorded", TIMEOUT, async || exit.exists()).await;
    let exit: Value = serde_json::from_slice(&std::fs::read(&exit).unwrap()).unwrap();

    plant.app.forebay.restart().await.unwrap();
    let ended = async || plant.holds(&live[0].endpoint).await[0].hold.ended_at;
    wait_until("its hold is closed", TIMEOUT, async || ended().await.is_some()).await;
    let exited = domain::Timestamp::parse(exit["time"].as_str().unwrap()).unwrap();
    assert_eq!(ended().await, Some(exited));
    assert_eq!(plant.pid_of(&live[1]), pids[1], "the other one was adopted");
    let holds = plant.holds(&live[0].endpoint).await;
    assert_eq!(
        (holds[1].hold.started_at, holds[1].hold.ended_at),
        (live[1].started_at.unwrap(), None),
        "uninterrupted"
    );
    plant.wait_for("chat", "serving", 2).await;
    assert_everything_is_released(&plant).await;
}

#[tokio::test]
async fn sigint_stops_the_replicas_and_closes_their_holds() {
    let mut plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 2})).await;
    plant.wait_for("chat", "serving", 2).await;
    plant.app.forebay.child.signal("INT").unwrap();
    assert!(plant.app.forebay.child.wait_for_end(TIMEOUT).await.unwrap().success());
    assert_eq!((plant.running().len(), plant.open_holds().await), (0, 0));
    plant.app.forebay.restart().await.unwrap();
    plant.wait_for("chat", "serving", 2).await;
    assert_everything_is_released(&plant).await;
}

/// Waits until the process was killed at its fault point.
async fn is_killed(plant: &mut Plant) {
    use std::os::unix::process::ExitStatusExt as _;
    let ended = plant.app.forebay.child.wait_for_end(TIMEOUT).await.expect("the fault point is reached");
    assert_eq!(ended.signal(), Some(9), "{ended}");
}

/// Checks that there are exactly `count` replicas, each with one process and one open hold.
async fn assert_nothing_is_duplicated(plant: &Plant, count: usize) {
    let live = plant.live().await;
    let ids: Vec<String> = live.iter().map(|replica| replica.id.to_string()).collect();
    assert_eq!(plant.running().into_iter().collect::<Vec<_>>(), ids);
    assert_eq!((ids.len(), plant.open_holds().await), (count, count));
    assert_eq!(plant.replicas(&live[0].endpoint).await.len(), count, "no other replica was started");
}

/// Deletes the endpoint and checks that its holds match its replicas to the millisecond.
async fn assert_everything_is_released(plant: &Plant) {
    let id = plant.id("chat").await;
    plant.delete("chat").await;
    assert_eq!((plant.live().await.len(), plant.open_holds().await, plant.running().len()), (0, 0, 0));
    let holds = plant.holds(&id).await;
    let replicas = plant.replicas(&id).await;
    let lived = |started: Option<domain::Timestamp>, ended| started.map(|started| (started, ended));
    let lives: Vec<_> = replicas.iter().filter_map(|one| lived(one.started_at, one.ended_at)).collect();
    let held: Vec<_> = holds.iter().map(|held| (held.hold.started_at, held.hold.ended_at)).collect();
    assert_eq!(held, lives);
    assert!(held.iter().all(|(started, ended)| ended.is_some_and(|ended| ended > *started)), "{held:?}");
    let differences = control::endpoints::find_differences(&plant.store).await.unwrap();
    assert_eq!(differences, [], "the ledger agrees with the endpoints");
    let usage: Value = plant.client().get("/endpoints/chat/usage").await.json();
    assert_eq!(usage["extensions"]["code"], "ENDPOINT_NOT_FOUND");
}

#[test]
fn every_fault_point_is_tested() {
    let text = include_str!("crashes.rs");
    for point in control::fault::POINTS {
        assert!(text.contains(&format!("at \"{point}\"")), "no test kills the process at {point}");
    }
}
