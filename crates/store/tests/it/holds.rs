use crate::databases::on_both;
use crate::fleets;
use crate::people::{NOW, later};
use domain::gpu_time::GpuBusy;
use domain::{Endpoint, NanoUsd, ReplicaId, Span, Timestamp};
use store::holds::{self, NewHold};
use store::{Store, StoreError, gpu_busy, gpu_usage};

const HOUR: i64 = 3_600_000;

fn replica(number: u128) -> ReplicaId {
    ReplicaId::new(NOW, number)
}

async fn open(store: &Store, endpoint: &Endpoint, number: u128, gpus: &[&str]) -> Result<(), StoreError> {
    let gpus: Vec<String> = gpus.iter().map(|gpu| (*gpu).to_owned()).collect();
    let mut tx = fleets::fenced(store).await;
    let new = NewHold {
        replica: &replica(number),
        endpoint,
        node: "n",
        gpus: &gpus,
        price_per_gpu_hour: NanoUsd::from_nanos(5),
        started_at: NOW,
    };
    holds::open(&mut tx, new).await?;
    tx.commit().await
}

async fn close(store: &Store, number: u128, at: Timestamp) -> bool {
    let mut tx = fleets::fenced(store).await;
    let closed = holds::close(&mut tx, &replica(number), at, "exit").await.unwrap();
    tx.commit().await.unwrap();
    closed
}

#[tokio::test]
async fn a_gpu_is_held_once_at_a_time() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        open(&store, &endpoint, 1, &["gpu-a", "gpu-b"]).await.unwrap();
        let taken = open(&store, &endpoint, 2, &["gpu-c", "gpu-b"]).await.unwrap_err();
        assert!(matches!(&taken, StoreError::GpuTaken { gpu } if gpu == "gpu-b"), "{taken:?}");
        open(&store, &endpoint, 3, &["gpu-c"]).await.unwrap(); // nothing of the rejected claim is stored
        close(&store, 1, later(1_000)).await;
        open(&store, &endpoint, 4, &["gpu-b"]).await.unwrap();
        assert_eq!(holds::list_open(&store).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn closing_is_idempotent_and_never_before_the_start() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        open(&store, &endpoint, 1, &["a"]).await.unwrap();
        open(&store, &endpoint, 2, &["b"]).await.unwrap();
        assert!(close(&store, 1, later(90_000)).await);
        assert!(!close(&store, 1, later(500_000)).await);
        assert!(close(&store, 2, later(-5)).await);
        let span = Span { from: later(-HOUR), to: later(HOUR) };
        let ends = holds::of_endpoint(&store, &endpoint.id, span).await.unwrap();
        assert_eq!(ends.iter().map(|held| held.hold.ended_at).collect::<Vec<_>>(), [Some(later(90_000)), Some(NOW)]);
    })
    .await;
}

#[tokio::test]
async fn last_seen_only_moves_forward_and_a_failed_start_is_not_billed() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        open(&store, &endpoint, 1, &["a"]).await.unwrap();
        for at in [later(15_000), later(5_000)] {
            let mut tx = store.begin().await.unwrap();
            holds::seen(&mut tx, &replica(1), at).await.unwrap();
            tx.commit().await.unwrap();
        }
        let mut tx = fleets::fenced(&store).await;
        holds::not_billed(&mut tx, &replica(1)).await.unwrap();
        tx.commit().await.unwrap();
        let held = holds::list_open(&store).await.unwrap().remove(0);
        assert_eq!((held.hold.last_seen_at, held.hold.billable), (later(15_000), false));
        assert_eq!((held.node.as_str(), held.price_per_gpu_hour.nanos()), ("n", 5));
    })
    .await;
}

/// The sealed hours that are not sent, in milliseconds.
async fn unsent(store: &Store) -> Vec<i64> {
    gpu_usage::unsent(store).await.unwrap().iter().map(|hour| hour.gpu_time.get()).collect()
}

#[tokio::test]
async fn hours_are_overwritten_until_sealed_and_sent_once() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let epoch = fleets::lead(&store, "a").await.epoch;
        let hour = Timestamp::from_millis(NOW.millis() - NOW.millis() % HOUR);
        let into_hour = NOW.millis() - hour.millis();
        open(&store, &endpoint, 1, &["a"]).await.unwrap();
        for now in [later(60_000), later(60_000), later(120_000)] {
            gpu_usage::roll_up(&store, epoch, hour, now).await.unwrap();
            assert_eq!(unsent(&store).await, [0; 0], "nothing is sealed yet");
        }
        close(&store, 1, later(90_000)).await;
        let over = hour.plus_millis(HOUR + 15 * 60_000);
        for _ in 0..2 {
            gpu_usage::roll_up(&store, epoch, hour, over).await.unwrap();
            assert_eq!(unsent(&store).await, [90_000.min(HOUR - into_hour)]);
        }
        assert_eq!(gpu_usage::first_open_hour(&store).await.unwrap(), Some(hour.plus_millis(HOUR)));
        let sealed = gpu_usage::unsent(&store).await.unwrap().remove(0);
        let mut tx = fleets::fenced(&store).await;
        gpu_usage::sent(&mut tx, &sealed.id, over).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(unsent(&store).await, [0; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_change_after_an_hour_was_sealed_is_a_separate_correction() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let epoch = fleets::lead(&store, "a").await.epoch;
        assert_eq!(gpu_usage::first_open_hour(&store).await.unwrap(), None, "nothing was ever held");
        let hour = Timestamp::from_millis(NOW.millis() - NOW.millis() % HOUR);
        assert!(NOW.millis() - hour.millis() < HOUR - 300_000, "the story needs five minutes of this hour");
        open(&store, &endpoint, 1, &["a"]).await.unwrap();
        assert_eq!(gpu_usage::first_open_hour(&store).await.unwrap(), Some(hour));
        let over = hour.plus_millis(HOUR + 15 * 60_000);
        gpu_usage::roll_up(&store, epoch, hour, over).await.unwrap();
        assert_eq!(unsent(&store).await, [120_000], "believed in for two minutes after it was last seen");
        // Its node was lost, and that is noticed only now.
        close(&store, 1, later(5_000)).await;
        for _ in 0..2 {
            gpu_usage::roll_up(&store, epoch, hour, over).await.unwrap();
            assert_eq!(unsent(&store).await, [120_000, -115_000]);
        }
        let old = gpu_usage::roll_up(&store, epoch - 1, hour, over).await;
        assert!(matches!(old, Err(StoreError::NotLeader { .. })));
    })
    .await;
}

#[tokio::test]
async fn busy_windows_are_overwritten() {
    on_both(async |_, store| {
        let endpoint = fleets::any_endpoint(&store).await;
        let mut tx = store.begin().await.unwrap();
        for busy in [100, 250_000] {
            let busy = GpuBusy::from_millionths(busy);
            gpu_busy::record(&mut tx, &endpoint.id, NOW, busy, true).await.unwrap();
        }
        tx.commit().await.unwrap();
        let span = Span { from: later(1), to: later(10) };
        let windows = gpu_busy::list(&store, &endpoint.id, span).await.unwrap();
        assert_eq!(windows.into_iter().collect::<Vec<_>>(), [(NOW, GpuBusy::from_millionths(250_000))]);
    })
    .await;
}
