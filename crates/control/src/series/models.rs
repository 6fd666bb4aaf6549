//! Metrics that are measured at the replicas of the catalogue's models. They show the load of all workspaces, so they are for
//! operators only.

use super::Frame;
use super::calls::bounded;
use super::gauges::{Readings, gauge_lines};
use super::lines::{ChartLine, LineName, LineSums};
use crate::command_error::CommandError;
use domain::ModelId;
use domain::series::Division;
use store::series::MAX_ROWS;
use store::{Store, prefill_queues};

/// Prompt tokens in flight, one line per replica.
pub(super) async fn prefill_queue(
    store: &Store,
    model: &ModelId,
    frame: &Frame,
) -> Result<Vec<ChartLine>, CommandError> {
    let (resolution, span) = (frame.points.step.resolution(), frame.points.span());
    let mut sums: LineSums<Readings> = LineSums::new(frame.points.count(), Some(Division::Replica));
    let found = prefill_queues::read(store, None, resolution, span, Some(model.as_str()), MAX_ROWS).await?;
    bounded(found.len())?;
    for queue in found {
        if let Some(index) = frame.points.index(queue.starts_at) {
            let readings = Readings { total: queue.total, highest: queue.highest, samples: queue.samples };
            sums.add(LineName::Replica(queue.replica), index, &readings);
        }
    }
    Ok(gauge_lines(sums, frame, 1))
}
