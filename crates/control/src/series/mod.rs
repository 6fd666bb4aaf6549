//! Dashboard charts: one metric of a workspace, or of a model for operators, over a span, in steps, optionally divided.
//!
//! Gaps are explicit: a value is `None` if it is unknown, because its rows are deleted or its time has not come, and for a
//! percentile of no calls. A count of no calls is 0.

mod calls;
mod endpoints;
mod gauges;
mod lines;
mod models;

pub use lines::{ChartLine, LineName, NamedValues, SeriesReport, SeriesValue};

use crate::command_error::CommandError;
use domain::series::{Division, Metric, Points, Resolution, Step, StepError};
use domain::usage::{Actor, CallSurface};
use domain::{ModelId, Retention, Span, Timestamp, WorkspaceId};
use store::Store;

/// Most lines of a chart; the last one is the sum of all others.
const MAX_LINES: usize = 50;

/// Selects a metric, a span and a division.
#[derive(Debug, Clone)]
pub struct SeriesQuery {
    pub metric: Metric,
    pub span: Span,
    /// `None` for a default that suits the span.
    pub step: Option<Step>,
    pub division: Option<Division>,
    pub model: Option<String>,
    pub actor: Option<Actor>,
    /// The name of a dedicated endpoint.
    pub endpoint: Option<String>,
    pub code: Option<String>,
    pub surface: Option<CallSurface>,
}

impl SeriesQuery {
    /// The selected model: an endpoint's is `dedicated/<name>`.
    fn model(&self) -> Option<String> {
        let of_endpoint = self.endpoint.as_deref().map(domain::model_ref::dedicated_id);
        of_endpoint.or_else(|| self.model.clone())
    }

    fn check(&self) -> Result<(), CommandError> {
        let bad = |field, why| Err(CommandError::BadValue { field, why });
        if self.division.is_some_and(|division| !self.metric.divides_by(division)) {
            return bad("groupBy", "this metric cannot be grouped this way");
        }
        if self.model.is_some() && self.endpoint.is_some() {
            return bad("endpoint", "select either a model or an endpoint");
        }
        if self.metric.is_of_endpoints() && self.actor.is_some() {
            return bad("key", "this metric is measured at endpoints and has no keys");
        }
        if self.metric.is_of_endpoints() && self.model.is_some() {
            return bad("model", "this metric is measured at endpoints; select an endpoint");
        }
        if self.metric.is_of_endpoints() && self.surface.is_some() {
            return bad("surface", "this metric is measured at endpoints and has no surface");
        }
        if self.code.is_some() && !self.metric.divides_by(Division::Code) {
            return bad("code", "only errors have a code");
        }
        Ok(())
    }
}

/// One metric of a workspace.
pub async fn report(
    store: &Store,
    workspace: &WorkspaceId,
    query: &SeriesQuery,
    retention: &Retention,
    now: Timestamp,
) -> Result<SeriesReport, CommandError> {
    query.check()?;
    let frame = Frame::new(query.metric, query.span, query.step, retention, now)?;
    let lines = match query.metric {
        Metric::ColdStarts => endpoints::cold_starts(store, workspace, query, &frame).await?,
        Metric::GpuBusy | Metric::Gpus => endpoints::gpus(store, Some(workspace), query, &frame).await?,
        Metric::KvCache | Metric::Waiting => endpoints::gauge(store, workspace, query, &frame).await?,
        Metric::PrefillQueue => endpoints::prefill_queue(store, workspace, query, &frame).await?,
        Metric::Replicas => endpoints::replicas(store, workspace, query, &frame).await?,
        Metric::Requests
        | Metric::Errors
        | Metric::Cancelled
        | Metric::Tokens
        | Metric::Ttft
        | Metric::TimePerOutputToken
        | Metric::Latency
        | Metric::InFlight
        | Metric::Hold
        | Metric::Queue
        | Metric::RateLimitHits => calls::lines(store, Some(workspace), query, &frame).await?,
    };
    Ok(frame.into_report(query.metric, query.division, lines))
}

/// One metric of all workspaces: of calls, or of GPUs. Undivided, since keys and endpoints mean nothing without their workspace.
pub async fn of_installation(
    store: &Store,
    query: &SeriesQuery,
    retention: &Retention,
    now: Timestamp,
) -> Result<SeriesReport, CommandError> {
    query.check()?;
    let is_free = query.step.is_none();
    match in_steps(store, query, query.step, retention, now).await {
        // Many workspaces have too many rows per minute; hours are few.
        Err(CommandError::BadValue { field: "step", .. }) if is_free => {
            in_steps(store, query, Step::parse("hour").ok(), retention, now).await
        }
        result => result,
    }
}

async fn in_steps(
    store: &Store,
    query: &SeriesQuery,
    step: Option<Step>,
    retention: &Retention,
    now: Timestamp,
) -> Result<SeriesReport, CommandError> {
    let frame = Frame::new(query.metric, query.span, step, retention, now)?;
    let lines = match query.metric {
        Metric::GpuBusy | Metric::Gpus => endpoints::gpus(store, None, query, &frame).await?,
        metric if metric.is_of_endpoints() => {
            return Err(CommandError::BadValue { field: "metric", why: "this metric is of single workspaces only" });
        }
        _ => calls::lines(store, None, query, &frame).await?,
    };
    Ok(frame.into_report(query.metric, query.division, lines))
}

/// Prompt tokens in flight at each replica of a model of the catalogue. Models with one replica have none. It shows the load
/// of all workspaces, so it is for operators only.
pub async fn prefill_queue(
    store: &Store,
    model: &ModelId,
    span: Span,
    step: Option<Step>,
    retention: &Retention,
    now: Timestamp,
) -> Result<SeriesReport, CommandError> {
    let frame = Frame::new(Metric::PrefillQueue, span, step, retention, now)?;
    let lines = models::prefill_queue(store, model, &frame).await?;
    Ok(frame.into_report(Metric::PrefillQueue, Some(Division::Replica), lines))
}

/// Measurement windows and events of endpoints are not stored per resolution.
fn kept_from(metric: Metric, retention: &Retention, resolution: Resolution, now: Timestamp) -> Timestamp {
    match metric {
        Metric::ColdStarts => now.plus_millis(-store::endpoint_events::KEPT_MILLIS),
        Metric::GpuBusy | Metric::Gpus => retention.kept_from(Resolution::Day, now),
        _ => retention.kept_from(resolution, now),
    }
}

/// The points of a chart, and the span in which their values are known.
#[derive(Debug, Clone, Copy)]
struct Frame {
    points: Points,
    kept_from: Timestamp,
    now: Timestamp,
}

impl Frame {
    /// `step` is `None` for a default that suits the span.
    fn new(
        metric: Metric,
        span: Span,
        step: Option<Step>,
        retention: &Retention,
        now: Timestamp,
    ) -> Result<Self, CommandError> {
        let kept = |resolution| kept_from(metric, retention, resolution, now);
        let step = step.unwrap_or_else(|| {
            let least = if metric.has_windows() { domain::gpu_time::WINDOW_MILLIS } else { 0 };
            Step::for_span(span, kept).at_least(least)
        });
        let points = Points::of(span, step).map_err(|error| match error {
            StepError::TooMany { .. } | StepError::Invalid => CommandError::BadValue {
                field: "step",
                why: "a chart has at most 1500 points: choose a longer step or a shorter span",
            },
        })?;
        Ok(Self { points, kept_from: kept(step.resolution()), now })
    }

    fn into_report(self, metric: Metric, division: Option<Division>, lines: Vec<ChartLine>) -> SeriesReport {
        SeriesReport { metric, division, points: self.points, kept_from: self.kept_from, lines }
    }

    /// A value for each point that is known.
    fn each<T>(&self, mut figure: impl FnMut(usize) -> Option<T>) -> Vec<Option<T>> {
        let is_known =
            |start: Timestamp| start.plus_millis(self.points.step.millis()) > self.kept_from && start <= self.now;
        self.points
            .starts()
            .enumerate()
            .map(|(index, start)| is_known(start).then(|| figure(index)).flatten())
            .collect()
    }

    /// The elapsed and kept part of a point, in milliseconds.
    fn passed_millis(&self, start: Timestamp) -> u64 {
        start.plus_millis(self.points.step.millis()).min(self.now).millis_since(start.max(self.kept_from))
    }
}
