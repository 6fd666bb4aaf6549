//! GPU usage of one endpoint.

use super::show;
use crate::endpoints::{EndpointError, EndpointRef, Scope};
use crate::gpu_prices;
use domain::gpu_time::{GpuUsage, Hold, UsageLine};
use domain::{Grain, Span, Timestamp};
use store::{Store, gpu_busy, holds};

/// The usage of an endpoint: of the whole span, and of the hours or days in which GPUs were held.
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
