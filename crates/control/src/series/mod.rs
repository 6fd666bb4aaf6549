//! What dashboards show: one metric of a workspace over a span, in steps, divided or not.
//!
//! Gaps are explicit: a point of which nothing is known, because its rows are gone or its time has not come, is none, and
//! so is a percentile of no calls. A count of calls that did not come is 0.

mod calls;
mod endpoints;
mod figures;

pub use figures::{Figures, Line, Name, Number, Report};

use crate::command_error::CommandError;
use domain::series::{BadStep, Division, Metric, Points, Resolution, Step};
use domain::usage::Actor;
use domain::{Retention, Span, Timestamp, WorkspaceId};
use store::Store;

/// More lines than this are one line for all the others.
const MAX_LINES: usize = 50;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Question {
    pub metric: Metric,
    pub span: Span,
    /// Absent: one that suits the span.
    pub step: Option<Step>,
    pub division: Option<Division>,
    pub model: Option<String>,
    pub actor: Option<Actor>,
    /// The name of a dedicated endpoint.
    pub endpoint: Option<String>,
    pub code: Option<String>,
}

impl Question {
    /// The model whose calls are asked for: an endpoint's is `dedicated/<name>`.
    fn model(&self) -> Option<String> {
        let of_endpoint = self.endpoint.as_ref().map(|name| format!("{}/{name}", domain::model_ref::DEDICATED));
        of_endpoint.or_else(|| self.model.clone())
    }

    fn check(&self) -> Result<(), CommandError> {
        let bad = |field, why| Err(CommandError::BadValue { field, why });
        if self.division.is_some_and(|division| !self.metric.divides_by(division)) {
            return bad("groupBy", "this metric cannot be divided so");
        }
        if self.model.is_some() && self.endpoint.is_some() {
            return bad("endpoint", "name either a model or an endpoint");
        }
        if self.metric.is_of_endpoints() && self.actor.is_some() {
            return bad("key", "this metric is measured at endpoints and knows no keys");
        }
        if self.metric.is_of_endpoints() && self.model.is_some() {
            return bad("model", "this metric is measured at endpoints; name an endpoint");
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
    question: &Question,
    retention: &Retention,
    now: Timestamp,
) -> Result<Report, CommandError> {
    question.check()?;
    let kept = |resolution| kept_from(question.metric, retention, resolution, now);
    let step = question.step.unwrap_or_else(|| {
        let least = if question.metric == Metric::GpuBusy { domain::gpu_time::WINDOW_MILLIS } else { 0 };
        Step::for_span(question.span, kept).at_least(least)
    });
    let points = Points::of(question.span, step).map_err(|bad| match bad {
        BadStep::TooMany { .. } | BadStep::Unreadable => CommandError::BadValue {
            field: "step",
            why: "that would be more than 1500 points: take longer steps or a shorter span",
        },
    })?;
    let kept_from = kept(step.resolution());
    let frame = Frame { points, kept_from, now };
    let lines = match question.metric {
        Metric::ColdStarts => endpoints::cold_starts(store, workspace, question, &frame).await?,
        Metric::GpuBusy => endpoints::gpu_busy(store, workspace, question, &frame).await?,
        Metric::KvCache | Metric::Waiting => endpoints::gauge(store, workspace, question, &frame).await?,
        Metric::Requests
        | Metric::Errors
        | Metric::Tokens
        | Metric::Ttft
        | Metric::TimePerOutputToken
        | Metric::Latency
        | Metric::InFlight
        | Metric::Hold
        | Metric::Queue
        | Metric::RateLimitHits => calls::lines(store, workspace, question, &frame).await?,
    };
    Ok(Report { metric: question.metric, division: question.division, points, kept_from, lines })
}

/// What is measured in windows, and events of endpoints, are not kept by resolution.
fn kept_from(metric: Metric, retention: &Retention, resolution: Resolution, now: Timestamp) -> Timestamp {
    match metric {
        Metric::ColdStarts => now.plus_millis(-store::endpoint_events::KEPT_MILLIS),
        Metric::GpuBusy => retention.kept_from(Resolution::Day, now),
        _ => retention.kept_from(resolution, now),
    }
}

/// The points of a chart, and which of them can be known.
#[derive(Debug, Clone, Copy)]
struct Frame {
    points: Points,
    kept_from: Timestamp,
    now: Timestamp,
}

impl Frame {
    /// A figure for each point of which something is known.
    fn each<T>(&self, mut figure: impl FnMut(usize) -> Option<T>) -> Vec<Option<T>> {
        let is_known =
            |start: Timestamp| start.plus_millis(self.points.step.millis()) > self.kept_from && start <= self.now;
        self.points
            .starts()
            .enumerate()
            .map(|(index, start)| is_known(start).then(|| figure(index)).flatten())
            .collect()
    }

    /// How much of a point has passed, in milliseconds.
    fn passed_millis(&self, start: Timestamp) -> u64 {
        start.plus_millis(self.points.step.millis()).min(self.now).millis_since(start.max(self.kept_from))
    }
}
