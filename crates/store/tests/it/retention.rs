use crate::databases::on_both;
use crate::people::{self, NOW, later};
use domain::series::{Level, Resolution};
use domain::{RequestId, Span, Timestamp, UsageEvent};
use store::retention::{BATCH, RowKind, clear, events_cleared_before};
use store::series::{self, Measure, Selection};
use store::usage::UsageWriter;

const HOUR: i64 = 3_600_000;

#[tokio::test]
async fn old_rows_are_deleted_in_batches_and_the_others_stay() {
    on_both(async |_, store| {
        let workspace = people::workspace(&store).await;
        let event = |number: i64| {
            let at = later(number);
            UsageEvent {
                request: RequestId::new(at, number.unsigned_abs().into()),
                started_at: at,
                ..crate::usage_events::event(&workspace, 0)
            }
        };
        let old: Vec<_> = (0..1_200).map(|number| event(number - HOUR)).collect();
        let new: Vec<_> = (0..5).map(event).collect();
        let mut tx = store.begin().await.unwrap();
        for batch in old.chunks(400).chain([&new[..]]) {
            UsageWriter::default().write(&mut tx, batch).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(events_cleared_before(&store).await.unwrap(), None);

        assert_eq!(clear(&store, RowKind::UsageEvents, NOW).await.unwrap(), BATCH);
        assert_eq!(clear(&store, RowKind::UsageEvents, NOW).await.unwrap(), 200);
        assert_eq!(clear(&store, RowKind::UsageEvents, NOW).await.unwrap(), 0);
        assert_eq!(clear(&store, RowKind::UsageEvents, later(-HOUR)).await.unwrap(), 0, "the mark never goes back");
        assert_eq!(events_cleared_before(&store).await.unwrap(), Some(NOW));
        assert_eq!(clear(&store, RowKind::UsageDimensions, NOW).await.unwrap(), 0, "their period is not over");
        assert_eq!(store::usage::list(&store, &workspace.id, 1_000).await.unwrap().len(), 5);

        let minutes = async || {
            let span = Span { from: Timestamp::default(), to: later(24 * HOUR) };
            let (resolution, level) = (Resolution::Minute, Level::Workspace);
            let selection =
                Selection { workspace: Some(&workspace.id), resolution, level, span, model: None, actor: None };
            series::read(&store, selection, Measure::Requests).await.unwrap().len()
        };
        assert_eq!(minutes().await, 2);
        assert_eq!(clear(&store, RowKind::Series(Resolution::Minute), NOW).await.unwrap(), 6, "one for each level");
        assert_eq!(minutes().await, 1);

        let much_later = later(31 * 24 * HOUR);
        assert_eq!(clear(&store, RowKind::UsageEvents, much_later).await.unwrap(), 5);
        assert!(clear(&store, RowKind::UsageDimensions, much_later).await.unwrap() > 0);
        assert_eq!(clear(&store, RowKind::UsageDimensions, much_later).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn every_kind_of_rows_can_be_deleted() {
    on_both(async |_, store| {
        let by_resolution = Resolution::ALL.into_iter().flat_map(|resolution| {
            let (series, codes) = (RowKind::Series(resolution), RowKind::Codes(resolution));
            [series, codes, RowKind::Gauges(resolution), RowKind::PrefillQueues(resolution)]
        });
        let others = [
            RowKind::UsageDimensions,
            RowKind::RejectedCalls,
            RowKind::GpuBusySamples,
            RowKind::GpuBusyWindows,
            RowKind::ReplicaHours,
            RowKind::EngineHours,
            RowKind::EngineCounters,
        ];
        for kind in by_resolution.chain(others) {
            assert_eq!(clear(&store, kind, NOW).await.unwrap(), 0, "{kind:?}");
        }
    })
    .await;
}
