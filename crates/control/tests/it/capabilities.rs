//! Engines are probed when it is due, and what they can do is known to their backends.

use crate::NOW;
use crate::databases::on_both;
use control::capabilities::{CapabilityKeeper, CapabilityParts};
use domain::capabilities::{Capability, Support};
use domain::model::{EngineKind, Model, Serving, Upstream};
use domain::{Catalogue, ModelId, Timestamp};
use fleet::backend::{Health, Staleness};
use fleet::{Backend, Connector, Endpoints, Routes};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use store::audit::{self, Filter};
use store::capabilities::{EngineRecord, list_since};
use testkit::fake_engine::{FakeEngine, Script};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
/// Far more rounds than a probe takes.
const MAX_ROUNDS: usize = 4_000;
const PAUSE: Duration = Duration::from_millis(5);

thread_local! {
    static CLOCK: Cell<i64> = const { Cell::new(0) };
}

fn now() -> Timestamp {
    NOW.plus_millis(CLOCK.get())
}

/// A gateway with one engine.
struct Stage {
    store: Store,
    engine: FakeEngine,
    routes: Routes,
    keeper: CapabilityKeeper,
}

/// An engine without pictures.
fn without_images(version: &str) -> Script {
    Script { version: Some(version.to_owned()), refused: vec!["image_url".to_owned()], ..Script::default() }
}

fn with_images(version: &str) -> Script {
    Script { version: Some(version.to_owned()), ..Script::default() }
}

impl Stage {
    async fn new(store: Store, script: Script) -> Self {
        CLOCK.set(0);
        let engine = FakeEngine::start().await;
        engine.script(script);
        let upstream = Upstream { engine: Some(EngineKind::Vllm), ..Upstream::plain(engine.url(), "m") };
        let serving = Serving::Upstreams(vec![upstream]);
        let model = Model { serving, ..Model::plain(ModelId::parse("acme/x").unwrap()) };
        let routes = Routes::default();
        routes.apply(&Catalogue::new(vec![model], "hash")).unwrap();
        let keeper = CapabilityKeeper::new(CapabilityParts {
            store: store.clone(),
            routes: routes.clone(),
            endpoints: Endpoints::default(),
            connector: Connector::default(),
            probes_unknown: false,
            node: "node_a".into(),
            now,
        });
        let stage = Self { store, engine, routes, keeper };
        stage.backend().set_health(Health::Up);
        stage
    }

    fn backend(&self) -> Arc<Backend> {
        Arc::clone(&self.routes.table().get("acme/x").unwrap().pool.replicas()[0])
    }

    fn images(&self) -> Support {
        self.backend().capabilities().get(Capability::Images)
    }

    async fn record(&self) -> Option<EngineRecord> {
        list_since(&self.store, Timestamp::from_millis(0)).await.unwrap().pop()
    }

    /// Goes on until a probe that began now has ended.
    async fn probed(&mut self) -> EngineRecord {
        for _ in 0..MAX_ROUNDS {
            self.keeper.round().await.unwrap();
            if let Some(record) = self.record().await.filter(|record| record.probed_at == now()) {
                // The result of the look reaches the backends in another round.
                self.pass().await;
                return record;
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("no probe at {}", CLOCK.get());
    }

    /// A few rounds.
    async fn pass(&mut self) {
        for _ in 0..20 {
            self.keeper.round().await.unwrap();
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Checks that the engine is not called at this time.
    async fn rests_at(&mut self, millis: i64) {
        CLOCK.set(millis);
        self.engine.forget_calls();
        self.pass().await;
        assert_eq!(self.engine.calls().len(), 0, "at {millis}");
    }

    fn restart(&self, script: Script) {
        self.backend().set_health(Health::Down);
        self.engine.script(script);
        self.backend().set_health(Health::Up);
    }
}

#[tokio::test]
async fn a_rejected_call_is_a_reason_for_another_probe_once_the_pause_is_over() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store, without_images("1.0")).await;
        assert!(stage.probed().await.is_complete());
        assert_eq!(stage.images(), Support::No);
        stage.engine.script(with_images("1.0"));
        CLOCK.set(10 * SECOND);
        stage.backend().mark_stale(Staleness::CallRejected);
        stage.rests_at(10 * SECOND).await;
        stage.rests_at(2 * MINUTE - 1).await;
        assert_eq!(stage.images(), Support::No);
        CLOCK.set(2 * MINUTE);
        assert!(stage.probed().await.is_complete(), "the doubt of the first two minutes was kept");
        assert_eq!(stage.images(), Support::Yes);
        stage.rests_at(200 * MINUTE).await;
    })
    .await;
}

#[tokio::test]
async fn after_a_restart_what_an_engine_lacked_is_not_known_until_it_was_probed() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store, without_images("1.0")).await;
        stage.probed().await;
        stage.restart(with_images("1.0"));
        assert_eq!(stage.images(), Support::Unknown);
        stage.rests_at(MINUTE).await;
        assert_eq!(stage.images(), Support::Unknown, "the old result is not applied again");
        assert_eq!(stage.backend().capabilities().get(Capability::Chat), Support::Yes);
        CLOCK.set(2 * MINUTE);
        stage.probed().await;
        assert_eq!(stage.images(), Support::Yes);
    })
    .await;
}

#[tokio::test]
async fn another_version_is_probed_after_a_minute_and_the_change_is_audited() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store, without_images("1.0")).await;
        stage.probed().await;
        stage.restart(with_images("2.0"));
        stage.rests_at(MINUTE - 1).await;
        CLOCK.set(MINUTE + 30 * SECOND);
        assert_eq!(stage.probed().await.version.as_deref(), Some("2.0"));
        assert_eq!(stage.images(), Support::Yes);
        let entries = audit::list(&stage.store, &Filter::default(), 10).await.unwrap();
        let change = &entries[0].entry;
        assert_eq!([&*change.actor, &*change.action, &*change.subject], ["probe", "model.capabilities", "acme/x"]);
        assert!(change.detail.contains("images: there, was missing"), "{change:?}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_ends_an_engine_is_not_repeated_and_failed_probes_have_growing_pauses() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store, with_images("1.0")).await;
        let ends = || Script { hang_up: true, ..with_images("1.0") };
        stage.engine.push(with_images("1.0"));
        stage.engine.push(ends());
        let first = stage.probed().await;
        assert_eq!((first.failures, first.fatal_calls), (1, vec!["completion".to_owned()]));
        stage.restart(with_images("1.0"));
        stage.rests_at(MINUTE).await;
        stage.rests_at(2 * MINUTE - 1).await;
        stage.engine.push(with_images("1.0"));
        stage.engine.push(ends());
        CLOCK.set(2 * MINUTE);
        let second = stage.probed().await;
        assert_eq!((second.failures, second.fatal_calls.len()), (2, 2), "{second:?}");
        stage.rests_at(12 * MINUTE - 1).await;
        CLOCK.set(12 * MINUTE);
        let third = stage.probed().await;
        assert!(third.is_complete() && third.fatal_calls == second.fatal_calls, "{third:?}");
        assert!(
            stage.engine.calls().iter().all(|call| call.path != "/v1/completions" && call.path != "/v1/embeddings")
        );
        assert_eq!(stage.images(), Support::Yes);
    })
    .await;
}
