use crate::databases::on_both;
use crate::fleets;
use crate::people::{self, NOW, later};
use domain::bill_check::TokenCounts;
use domain::{Grain, NanoUsd, ReplicaId, Span, Timestamp, UsageEvent};
use store::Store;
use store::bill_check::{self, CounterReading, Hour, list, read_counters};
use store::holds::{self, NewHold};
use store::usage::UsageWriter;

const HOUR: i64 = 3_600_000;

fn tokens(prompt: u64, completion: u64) -> TokenCounts {
    TokenCounts { prompt, completion }
}

async fn record(store: &Store, replica: &str, source: &str, counters: TokenCounts, at: Timestamp) {
    let reading = CounterReading {
        replica: replica.into(),
        source: source.into(),
        model: "acme/tiny-chat".into(),
        counters,
        counts_cached: true,
        at,
    };
    let mut tx = store.begin().await.unwrap();
    read_counters(&mut tx, &reading).await.unwrap();
    tx.commit().await.unwrap();
}

async fn hours(store: &Store) -> Vec<Hour> {
    let span = Span { from: later(-24 * HOUR), to: later(24 * HOUR) };
    list(store, None, span, bill_check::MAX_LISTED).await.unwrap()
}

fn counted(hours: &[Hour]) -> Vec<(i64, Option<TokenCounts>)> {
    let start = Grain::Hour.start_of(NOW).millis();
    hours.iter().map(|hour| ((hour.hour.millis() - start) / HOUR, hour.counted.map(|counted| counted.tokens))).collect()
}

#[tokio::test]
async fn counters_are_read_by_their_growth_even_after_an_engine_restart() {
    on_both(async |_, store| {
        let hour = Grain::Hour.start_of(NOW);
        let at = |minutes: i64| hour.plus_millis(minutes * 60_000);
        record(&store, "r", "node_1", tokens(10, 1), at(1)).await;
        record(&store, "r", "node_1", tokens(30, 4), at(2)).await;
        record(&store, "r", "node_1", tokens(29, 3), at(1)).await;
        record(&store, "r", "node_1", tokens(5, 2), at(3)).await;
        record(&store, "r", "node_2", tokens(100, 100), at(3)).await;
        record(&store, "r", "node_1", tokens(6, 2), at(61)).await;
        let found = hours(&store).await;
        assert_eq!(counted(&found), [(1, Some(tokens(1, 0))), (0, Some(tokens(135, 106)))]);
        assert!(!found[1].is_read_to_its_end());

        record(&store, "shared", "", tokens(1_000_000, 1_000_000), at(1)).await;
        record(&store, "shared", "", tokens(1_000_007, 1_000_000), at(59)).await;
        let shared: Vec<Hour> = hours(&store).await.into_iter().filter(|hour| hour.replica == "shared").collect();
        assert_eq!(
            counted(&shared),
            [(0, Some(tokens(7, 0)))],
            "the first reading of a shared server is only a baseline"
        );
        assert!(shared[0].is_read_to_its_end());
    })
    .await;
}

#[tokio::test]
async fn billed_tokens_belong_to_the_hour_in_which_the_call_ended() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let end_of_hour = Grain::Hour.start_of(NOW).plus_millis(HOUR);
        let call = |number: i64, micros: u64| UsageEvent {
            started_at: end_of_hour.plus_millis(-1_000),
            duration_micros: micros,
            ..crate::usage_events::event(&workspace, number)
        };
        let events = [call(1, 500_000), call(2, 999_000), call(3, 1_000_000), call(4, 90_000_000)];
        for _ in 0..2 {
            let mut tx = store.begin().await.unwrap();
            UsageWriter::default().write(&mut tx, &events).await.unwrap();
            tx.commit().await.unwrap();
        }
        let found = hours(&store).await;
        let billed: Vec<_> = found.iter().map(|hour| (hour.billed, hour.cached, hour.counted)).collect();
        assert_eq!(billed, [(tokens(20, 10), 4, None), (tokens(20, 10), 4, None)]);
    })
    .await;
}

#[tokio::test]
async fn an_organization_sees_the_replicas_of_its_own_endpoints() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let replica = ReplicaId::new(NOW, 1);
        let mut tx = fleets::fenced(&store).await;
        let hold = NewHold {
            replica: &replica,
            endpoint: &endpoint,
            node: "n",
            gpus: &["local/cpu#0".to_owned()],
            price_per_gpu_hour: NanoUsd::ZERO,
            started_at: NOW,
        };
        holds::open(&mut tx, hold).await.unwrap();
        tx.commit().await.unwrap();
        record(&store, replica.as_str(), "n", tokens(3, 4), NOW).await;
        record(&store, "acme/tiny#1", "n", tokens(5, 6), NOW).await;
        let span = Span { from: later(-HOUR), to: later(HOUR) };
        let own = list(&store, Some(&endpoint.organization), span, 10).await.unwrap();
        assert_eq!(own.iter().map(|hour| hour.replica.as_str()).collect::<Vec<_>>(), [replica.as_str()]);
        let other = people::new_organization();
        assert!(list(&store, Some(&other.id), span, 10).await.unwrap().is_empty());
        assert_eq!(list(&store, None, span, 10).await.unwrap().len(), 2);
    })
    .await;
}
