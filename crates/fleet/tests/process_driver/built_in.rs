//! The real built-in engine with the weights of the starter model; `make test` builds the one and downloads the other.

use crate::helpers::{Machine, spec};
use domain::model::{EngineKind, Launch};
use fleet::drivers::Driver;
use fleet::drivers::process::ShimPolicy;
use fleet::engine::{FailureClass, ProbeResult};

const WEIGHTS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf");

#[tokio::test]
async fn the_built_in_engine_serves_reports_its_load_and_ends() {
    let machine = Machine::with_policy(|policy| policy.grace = ShimPolicy::default().grace);
    let mut spec = spec("rep_1", Launch::Engine(EngineKind::ForebayEngine));
    spec.weights = Some(WEIGHTS.to_owned());
    let binding = machine.bind(&spec).await;
    machine.driver.start(&spec, &binding).await.unwrap();
    machine.ready("rep_1").await;
    assert_eq!(machine.driver.probe(&spec.replica).await, ProbeResult::Healthy);
    let load = machine.driver.load(&spec.replica).await.unwrap();
    assert!(load.kv_cache_usage.is_some(), "{load:?}");
    assert_eq!((load.running, load.waiting), (Some(0.0), Some(0.0)));
    machine.driver.stop(&spec.replica).await.unwrap();
    let exit = machine.exit("rep_1").await;
    assert_eq!((exit.code, exit.failure), (Some(0), None));
}

#[tokio::test]
async fn missing_weights_of_the_built_in_engine_are_classified() {
    let machine = Machine::new();
    let spec = machine.start("rep_1", Launch::Engine(EngineKind::ForebayEngine)).await;
    let failure = machine.exit("rep_1").await.failure.unwrap();
    assert_eq!(failure.class, FailureClass::WeightsMissing, "{}", machine.driver.log_tail(&spec.replica).await);
}
