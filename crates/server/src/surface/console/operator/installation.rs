//! `/api/operator/metrics` and `/api/operator/usage`: the load of all workspaces, and who causes it.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{non_empty, span, step};
use crate::surface::console::extract::{List, Operator, Params};
use crate::surface::console::usage::metrics::MetricName;
use axum::Json;
use control::series::{self, SeriesQuery};
use control::usage::{self, ConsumerOrder};
use domain::OrganizationId;
use domain::series::Metric;
use domain::usage::Actor;
use serde::{Deserialize, Serialize};
use store::usage::sums::consumers::{Consumer, ConsumerKind};
use utoipa::{IntoParams, ToSchema};
use view::SeriesView;

const DAY_MILLIS: i64 = 86_400_000;
const DEFAULT_LINES: usize = 10;
const MAX_LINES: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct InstallationQuery {
    /// The metric: of calls, `gpu_busy` or `gpus`.
    #[param(required = true, nullable = false, inline, value_type = MetricName)]
    metric: Option<String>,
    /// From this time on; default: a day before `to`.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time; default: now.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
    /// `minute`, `hour`, `day`, or seconds that are whole minutes; default: by the length of the span. At most 1500
    /// points.
    #[param(required = false, nullable = false, example = "hour")]
    step: Option<String>,
}

/// One metric of all workspaces over a span of time.
#[utoipa::path(get, path = "/api/operator/metrics", tag = "operator", params(InstallationQuery),
    responses((status = 200, body = SeriesView)))]
pub(crate) async fn show_metric(
    Operator(caller): Operator,
    Params(query): Params<InstallationQuery>,
) -> Result<Json<SeriesView>, ConsoleError> {
    let now = caller.now();
    let metric = Metric::parse(non_empty(&query.metric).unwrap_or_default());
    let metric = metric.map_err(|error| ConsoleError::invalid("metric", &error.to_string()))?;
    let query = SeriesQuery {
        metric,
        span: span(&query.from, &query.to, now, DAY_MILLIS)?,
        step: step(&query.step)?,
        division: None,
        model: None,
        actor: None,
        endpoint: None,
        code: None,
        surface: None,
    };
    let report = series::of_installation(caller.store(), &query, &caller.context.retention, now).await?;
    Ok(Json(report.into()))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ConsumersQuery {
    /// `organization`, `model`, `endpoint` or `key`.
    #[param(required = true, nullable = false)]
    by: Option<String>,
    /// `tokens`, which is the default, `cost` or `requests`: the largest come first.
    #[param(required = false, nullable = false)]
    sort: Option<String>,
    /// Only this organization, and what belongs to it. Models belong to none.
    #[param(required = false, nullable = false)]
    organization: Option<String>,
    /// From this time on; default: a day before `to`.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time; default: now.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
    /// Default: 10.
    #[param(required = false, nullable = false, value_type = Option<u64>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
}

/// A part of the installation, and what it used.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorUsageLine)]
pub(crate) struct ConsumerView {
    /// Null for a model.
    organization: Option<NamedView>,
    /// The workspace of an endpoint or key; null otherwise.
    workspace: Option<NamedView>,
    /// The model's id, the endpoint's name, the key's name or the user's address.
    name: String,
    /// The id of the key, or of the user of the Playground; null otherwise.
    key: Option<String>,
    requests: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    /// Decimal text in USD, with the GPU-hours of endpoints.
    cost_usd: String,
    /// The last day with usage, in UTC.
    #[schema(format = Date)]
    last_day: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = OperatorUsageOwner)]
struct NamedView {
    id: String,
    name: String,
}

fn view(kind: ConsumerKind, found: Consumer) -> ConsumerView {
    let Consumer { organization, workspace, model, actor, actor_name, totals, last_day } = found;
    let organization = organization.map(|(id, name)| NamedView { id: id.to_string(), name });
    let name = match kind {
        ConsumerKind::Organization => organization.as_ref().map_or_else(String::new, |one| one.name.clone()),
        ConsumerKind::Model => model,
        ConsumerKind::Endpoint => domain::model_ref::endpoint_part(&model).unwrap_or(&model).to_owned(),
        ConsumerKind::Key if actor_name.is_empty() => actor.clone(),
        ConsumerKind::Key => actor_name,
    };
    ConsumerView {
        organization,
        workspace: workspace.map(|(id, name)| NamedView { id: id.to_string(), name }),
        name,
        key: (kind == ConsumerKind::Key).then(|| Actor::parse(&actor)).flatten().map(|actor| actor.as_str().to_owned()),
        requests: totals.requests,
        prompt_tokens: totals.prompt_tokens,
        completion_tokens: totals.completion_tokens,
        cost_usd: totals.cost.to_string(),
        last_day: last_day.to_string(),
    }
}

/// The largest consumers of a span of time, over all existing workspaces.
#[utoipa::path(get, path = "/api/operator/usage", tag = "operator", params(ConsumersQuery),
    responses((status = 200, body = List<ConsumerView>)))]
pub(crate) async fn list_consumers(
    Operator(caller): Operator,
    Params(query): Params<ConsumersQuery>,
) -> Result<Json<List<ConsumerView>>, ConsoleError> {
    let now = caller.now();
    let kind = ConsumerKind::parse(non_empty(&query.by).unwrap_or_default());
    let kind = kind.ok_or_else(|| ConsoleError::invalid("by", "one of organization, model, endpoint and key"))?;
    let order = ConsumerOrder::parse(non_empty(&query.sort).unwrap_or("tokens"));
    let order = order.ok_or_else(|| ConsoleError::invalid("sort", "tokens, cost or requests"))?;
    let limit = non_empty(&query.limit).map_or(Ok(DEFAULT_LINES), str::parse);
    let limit = limit.ok().filter(|limit| (1..=MAX_LINES).contains(limit));
    let limit = limit.ok_or_else(|| ConsoleError::invalid("limit", "a number from 1 to 1000"))?;
    let organization = non_empty(&query.organization).map(OrganizationId::parse).transpose();
    let organization =
        organization.map_err(|_| ConsoleError::invalid("organization", "not the id of an organization"))?;
    if organization.is_some() && kind == ConsumerKind::Model {
        return Err(ConsoleError::invalid("organization", "models belong to no organization"));
    }
    let span = span(&query.from, &query.to, now, DAY_MILLIS)?;
    let found = usage::largest(caller.store(), kind, order, organization.as_ref(), span, limit, now).await?;
    Ok(Json(List::whole(found.into_iter().map(|one| view(kind, one)).collect())))
}
