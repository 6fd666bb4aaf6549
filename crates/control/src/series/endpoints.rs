//! Metrics that are measured at dedicated endpoints.

use super::calls::bounded;
use super::gauges::{Readings, gauge_lines};
use super::lines::{Accumulate, ChartLine, LineName, LineSums, SeriesValue, ratio};
use super::{Frame, SeriesQuery};
use crate::command_error::CommandError;
use domain::gpu_time::{SAMPLE_MILLIS, WINDOW_MILLIS};
use domain::model_ref::endpoint_part;
use domain::series::{Division, Metric};
use domain::{Span, WorkspaceId};
use store::gauges::{self, Gauge};
use store::gpu_busy::{self, BusyQuery};
use store::holds::{self, Owner};
use store::series::MAX_ROWS;
use store::{Store, endpoint_events, prefill_queues};

impl Accumulate for u64 {
    fn add(&mut self, other: &Self) {
        *self += other;
    }

    fn weight(&self) -> u64 {
        *self
    }
}

/// The line of an endpoint; `None` if the query selects another one.
fn name(query: &SeriesQuery, endpoint: &str) -> Option<LineName> {
    let is_selected = query.endpoint.as_ref().is_none_or(|selected| selected == endpoint);
    let name = if query.division.is_some() { LineName::Endpoint(endpoint.to_owned()) } else { LineName::All };
    is_selected.then_some(name)
}

/// How often endpoints were woken.
pub(super) async fn cold_starts(
    store: &Store,
    workspace: &WorkspaceId,
    query: &SeriesQuery,
    frame: &Frame,
) -> Result<Vec<ChartLine>, CommandError> {
    let mut sums: LineSums<u64> = LineSums::new(frame.points.count(), query.division);
    for (at, endpoint) in endpoint_events::cold_starts(store, workspace, frame.points.span(), MAX_ROWS).await? {
        if let (Some(name), Some(index)) = (name(query, &endpoint), frame.points.index(at)) {
            sums.add(name, index, &1);
        }
    }
    let line = |(name, counts, total): (LineName, Vec<u64>, u64)| ChartLine {
        name,
        values: vec![("count", frame.each(|index| Some(SeriesValue::Whole(counts[index]))))],
        total: vec![("count", Some(SeriesValue::Whole(total)))],
    };
    Ok(sums.finish().into_iter().map(line).collect())
}

pub(super) async fn gauge(
    store: &Store,
    workspace: &WorkspaceId,
    query: &SeriesQuery,
    frame: &Frame,
) -> Result<Vec<ChartLine>, CommandError> {
    let gauge = if query.metric == Metric::KvCache { Gauge::KvCache } else { Gauge::Waiting };
    let (resolution, span) = (frame.points.step.resolution(), frame.points.span());
    let mut sums: LineSums<Readings> = LineSums::new(frame.points.count(), query.division);
    for found in gauges::read(store, workspace, resolution, gauge, span).await? {
        let endpoint = endpoint_part(&found.model).unwrap_or_default();
        if let (Some(name), Some(index)) = (name(query, endpoint), frame.points.index(found.starts_at)) {
            let readings = Readings { total: found.total, highest: found.highest, samples: found.samples };
            sums.add(name, index, &readings);
        }
    }
    Ok(gauge_lines(sums, frame, 1_000))
}

/// Replicas that endpoints should have, and those that were ready.
#[derive(Debug, Clone, Copy, Default)]
struct ReplicaCounts {
    desired: Readings,
    ready: Readings,
}

impl Accumulate for ReplicaCounts {
    fn add(&mut self, other: &Self) {
        self.desired.add(&other.desired);
        self.ready.add(&other.ready);
    }

    fn weight(&self) -> u64 {
        self.desired.total
    }
}

/// Average numbers of replicas per endpoint.
pub(super) async fn replicas(
    store: &Store,
    workspace: &WorkspaceId,
    query: &SeriesQuery,
    frame: &Frame,
) -> Result<Vec<ChartLine>, CommandError> {
    let (resolution, span) = (frame.points.step.resolution(), frame.points.span());
    let mut sums: LineSums<ReplicaCounts> = LineSums::new(frame.points.count(), query.division);
    for gauge in [Gauge::DesiredReplicas, Gauge::ReadyReplicas] {
        for found in gauges::read(store, workspace, resolution, gauge, span).await? {
            let endpoint = endpoint_part(&found.model).unwrap_or_default();
            let Some((name, index)) = name(query, endpoint).zip(frame.points.index(found.starts_at)) else { continue };
            let readings = Readings { total: found.total, highest: found.highest, samples: found.samples };
            let counts = match gauge {
                Gauge::ReadyReplicas => ReplicaCounts { ready: readings, ..ReplicaCounts::default() },
                _ => ReplicaCounts { desired: readings, ..ReplicaCounts::default() },
            };
            sums.add(name, index, &counts);
        }
    }
    let mean = |readings: &Readings| ratio(readings.total, readings.samples * 1_000);
    let line = |(name, points, total): (LineName, Vec<ReplicaCounts>, ReplicaCounts)| ChartLine {
        name,
        values: vec![
            ("desired", frame.each(|index| mean(&points[index].desired))),
            ("ready", frame.each(|index| mean(&points[index].ready))),
        ],
        total: vec![("desired", mean(&total.desired)), ("ready", mean(&total.ready))],
    };
    Ok(sums.finish().into_iter().map(line).collect())
}

/// Prompt tokens in flight per replica of an endpoint.
pub(super) async fn prefill_queue(
    store: &Store,
    workspace: &WorkspaceId,
    query: &SeriesQuery,
    frame: &Frame,
) -> Result<Vec<ChartLine>, CommandError> {
    let (resolution, span) = (frame.points.step.resolution(), frame.points.span());
    let mut sums: LineSums<Readings> = LineSums::new(frame.points.count(), query.division);
    let model = query.model();
    let found = prefill_queues::read(store, Some(workspace), resolution, span, model.as_deref(), MAX_ROWS).await?;
    bounded(found.len())?;
    for queue in found {
        let endpoint = endpoint_part(&queue.model).unwrap_or_default();
        let name = match query.division {
            Some(Division::Replica) => Some(LineName::Replica(queue.replica)),
            Some(_) | None => name(query, endpoint),
        };
        if let (Some(name), Some(index)) = (name, frame.points.index(queue.starts_at)) {
            let readings = Readings { total: queue.total, highest: queue.highest, samples: queue.samples };
            sums.add(name, index, &readings);
        }
    }
    Ok(gauge_lines(sums, frame, 1))
}

/// How busy GPUs were while measured, and which part of their hold time was measured.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    /// Sum over the windows with samples.
    busy_millionths: u64,
    windows: u64,
    sampled_millis: u64,
    busy_millis: u64,
    held_millis: u64,
}

impl Accumulate for Measured {
    fn add(&mut self, other: &Self) {
        self.busy_millionths += other.busy_millionths;
        self.windows += other.windows;
        self.sampled_millis += other.sampled_millis;
        self.busy_millis += other.busy_millis;
        self.held_millis += other.held_millis;
    }

    fn weight(&self) -> u64 {
        self.held_millis
    }
}

/// GPUs of a workspace, or of all: how busy they were, or how many were held.
pub(super) async fn gpus(
    store: &Store,
    workspace: Option<&WorkspaceId>,
    query: &SeriesQuery,
    frame: &Frame,
) -> Result<Vec<ChartLine>, CommandError> {
    if frame.points.step.millis() % WINDOW_MILLIS != 0 {
        return Err(CommandError::BadValue { field: "step", why: "must be a multiple of 300 seconds for this metric" });
    }
    let span = frame.points.span();
    let mut sums: LineSums<Measured> = LineSums::new(frame.points.count(), query.division);
    let measured = gpu_busy::measured(
        store,
        BusyQuery {
            workspace,
            by_endpoint: query.division.is_some() || query.endpoint.is_some(),
            span,
            step_millis: frame.points.step.millis(),
            max_rows: MAX_ROWS + 1,
        },
    );
    let measured = measured.await?;
    bounded(measured.len())?;
    for step in measured {
        if let (Some(name), Some(index)) = (name(query, &step.endpoint_name), frame.points.index(step.starts_at)) {
            let measured = Measured {
                busy_millionths: step.busy_millionths,
                windows: step.windows,
                sampled_millis: step.samples.saturating_mul(SAMPLE_MILLIS),
                busy_millis: step.sampled_millionths.saturating_mul(SAMPLE_MILLIS) / 1_000_000,
                held_millis: 0,
            };
            sums.add(name, index, &measured);
        }
    }
    let owner = workspace.map_or(Owner::Installation, Owner::Workspace);
    let holds = holds::some_of_owner(store, owner, span, MAX_ROWS + 1).await?;
    bounded(holds.len())?;
    for billed in holds {
        let Some(name) = name(query, &billed.endpoint_name) else { continue };
        let held = billed.held.hold.span(frame.now);
        let first = frame.points.index(held.from.max(span.from)).unwrap_or(0);
        for (index, start) in frame.points.starts().enumerate().skip(first) {
            let point = Span { from: start, to: start.plus_millis(frame.points.step.millis()) };
            if point.from >= held.to {
                break;
            }
            let millis = u64::try_from(billed.held.hold.gpu_time(point, frame.now).get()).unwrap_or(0);
            sums.add(name.clone(), index, &Measured { held_millis: millis, ..Measured::default() });
        }
    }
    if query.metric == Metric::Gpus {
        return Ok(sums.finish().into_iter().map(|line| held_line(line, frame)).collect());
    }
    let mean = |measured: &Measured| ratio(measured.busy_millionths, measured.windows * 1_000_000);
    let part = |measured: &Measured| ratio(measured.sampled_millis.min(measured.held_millis), measured.held_millis);
    let line = |(name, points, total): (LineName, Vec<Measured>, Measured)| ChartLine {
        name,
        values: vec![
            ("mean", frame.each(|index| mean(&points[index]))),
            ("measured", frame.each(|index| part(&points[index]))),
        ],
        total: vec![("mean", mean(&total)), ("measured", part(&total))],
    };
    Ok(sums.finish().into_iter().map(line).collect())
}

/// Average numbers of GPUs: held, and busy as far as it was measured.
fn held_line((name, points, total): (LineName, Vec<Measured>, Measured), frame: &Frame) -> ChartLine {
    let starts: Vec<_> = frame.points.starts().collect();
    let passed = |index: usize| frame.passed_millis(starts[index]);
    let whole = (0..starts.len()).map(passed).sum();
    let busy =
        |measured: &Measured, millis| (measured.windows > 0).then(|| ratio(measured.busy_millis, millis)).flatten();
    ChartLine {
        name,
        values: vec![
            ("held", frame.each(|index| ratio(points[index].held_millis, passed(index)))),
            ("busy", frame.each(|index| busy(&points[index], passed(index)))),
        ],
        total: vec![("held", ratio(total.held_millis, whole)), ("busy", busy(&total, whole))],
    }
}
