use super::show;
use crate::endpoints::{EndpointError, EndpointRef, Scope};
use crate::gpu_prices;
use domain::gpu_time::{GpuMillis, GpuUsage, Hold, UsageLine};
use domain::{Grain, NanoUsd, Span, Timestamp};
use serde::{Serialize, Serializer};
use store::{Store, gpu_busy, holds};

/// The response of `…/usage`: the whole span, and the hours or days in which GPUs were held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    pub span: Span,
    pub grain: Grain,
    pub total: UsageLine,
    pub lines: Vec<UsageLine>,
}

/// GPU-hours, cost and how busy the GPUs were, until now at most.
pub async fn usage(
    store: &Store,
    scope: Scope<'_>,
    endpoint_ref: &EndpointRef,
    span: Span,
    grain: Grain,
    now: Timestamp,
) -> Result<UsageReport, EndpointError> {
    let endpoint = show(store, scope, endpoint_ref).await?;
    let span = Span { from: span.from, to: span.to.min(now).max(span.from) };
    let holds = holds::of_endpoint(store, &endpoint.id, span).await?;
    let holds: Vec<Hold> = holds.into_iter().map(|held| held.hold).collect();
    let prices = gpu_prices::of_endpoint(store, &endpoint).await?;
    let busy = gpu_busy::list(store, &endpoint.id, span).await?;
    let recorded = GpuUsage { holds: &holds, prices: &prices, busy: &busy };
    Ok(UsageReport { span, grain, total: recorded.total(span, now), lines: recorded.lines(span, grain, now) })
}

impl Serialize for UsageReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Report {
            from: Timestamp,
            to: Timestamp,
            granularity: &'static str,
            gpu_hours: GpuMillis,
            cost_usd: NanoUsd,
            utilization: f64,
            data: Vec<Line>,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Line {
            start: Timestamp,
            gpu_hours: GpuMillis,
            cost_usd: NanoUsd,
            utilization: f64,
        }
        let line = |line: &UsageLine| Line {
            start: line.start,
            gpu_hours: line.gpu_time,
            cost_usd: line.cost,
            utilization: line.busy.fraction(),
        };
        let report = Report {
            from: self.span.from,
            to: self.span.to,
            granularity: match self.grain {
                Grain::Hour => "hour",
                Grain::Day => "day",
            },
            gpu_hours: self.total.gpu_time,
            cost_usd: self.total.cost,
            utilization: self.total.busy.fraction(),
            data: self.lines.iter().map(line).collect(),
        };
        report.serialize(serializer)
    }
}
