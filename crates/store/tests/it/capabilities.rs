use crate::databases::on_both;
use crate::people::{NOW, later};
use domain::capabilities::{Capabilities, Capability, Support};
use domain::{ModelId, Timestamp};
use store::Store;
use store::capabilities::{self, EngineClaim, EngineRecord};
use store::retention::{RowKind, clear};

fn model() -> ModelId {
    ModelId::parse("acme/x").unwrap()
}

fn record(engine: &str, probed_at: Timestamp) -> EngineRecord {
    let mut known = Capabilities::default();
    known.set(Capability::Chat, Support::Yes);
    known.set(Capability::Tools, Support::No);
    EngineRecord {
        engine: engine.to_owned(),
        model: model(),
        version: None,
        capabilities: known,
        failures: 2,
        fatal_calls: vec!["image".to_owned()],
        probed_at,
    }
}

async fn claim(store: &Store, engine: &str, last: Option<Timestamp>, now: Timestamp) -> bool {
    let (model, until) = (model(), now.plus_millis(1_000));
    let mut tx = store.begin().await.unwrap();
    let claim = EngineClaim { engine, model: &model, last, until };
    let is_ours = capabilities::claim(&mut tx, claim, now).await.unwrap();
    tx.commit().await.unwrap();
    is_ours
}

async fn put(store: &Store, record: &EngineRecord) {
    let mut tx = store.begin().await.unwrap();
    capabilities::put(&mut tx, record).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn one_node_probes_an_engine_and_the_others_read_the_result() {
    on_both(async |_, store| {
        assert!(claim(&store, "a", None, NOW).await);
        assert!(!claim(&store, "a", None, later(999)).await, "another node probes it");
        assert!(claim(&store, "b", None, NOW).await, "another engine");
        assert_eq!(capabilities::list_since(&store, NOW).await.unwrap(), [], "nothing was found so far");
        let first = record("a", NOW);
        put(&store, &first).await;
        assert_eq!(capabilities::list_since(&store, NOW).await.unwrap(), std::slice::from_ref(&first));
        assert_eq!(capabilities::list_since(&store, later(1)).await.unwrap(), []);
        assert!(!claim(&store, "a", None, later(5)).await, "it was probed since this node has read");
        assert!(claim(&store, "a", Some(NOW), later(5)).await);
        let second = EngineRecord { version: Some("2".to_owned()), failures: 0, ..record("a", later(5)) };
        put(&store, &second).await;
        assert!(!claim(&store, "a", Some(NOW), later(10)).await, "the other node was faster");
        assert_eq!(capabilities::list_since(&store, NOW).await.unwrap(), [second]);
        assert!(claim(&store, "b", None, later(1_000)).await, "the node that probed it is gone");
    })
    .await;
}

#[tokio::test]
async fn results_are_found_by_the_keys_of_engines_and_removed_when_they_are_old() {
    on_both(async |_, store| {
        for (engine, at) in [("upstream 1 at node_b", 20), ("upstream 1 at node_a", 10), ("upstream 12", 0)] {
            put(&store, &record(engine, later(at))).await;
        }
        let found = capabilities::list_of(&store, &["upstream 1".to_owned()]).await.unwrap();
        let engines: Vec<&str> = found.iter().map(|record| &*record.engine).collect();
        assert_eq!(engines, ["upstream 1 at node_a", "upstream 1 at node_b"], "oldest first");
        assert_eq!(clear(&store, RowKind::EngineCapabilities, later(10)).await.unwrap(), 1);
        assert_eq!(capabilities::list_since(&store, NOW).await.unwrap().len(), 2);
    })
    .await;
}
