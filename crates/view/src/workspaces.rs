use super::budgets::OnBudgetView;
use super::end_users::EndUserSettingsView;
use domain::workspace::Limits;
use domain::{NanoUsd, ResponseRetention, Workspace};
use serde::Serialize;
use utoipa::ToSchema;

/// A workspace with the limits in force.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Workspace)]
pub struct WorkspaceView {
    #[schema(example = "ws_01k0000000000000000000000")]
    id: String,
    organization_id: String,
    name: String,
    requests_per_minute: u64,
    tokens_per_minute: u64,
    monthly_tokens: u64,
    max_api_keys: u64,
    /// The configured limits, which apply where the operator set none.
    defaults: DefaultLimitsView,
    /// The most that serverless calls and GPU-hours may cost in a month, in USD: the lower one of the operator's amount and that
    /// of the administrators; null if there is none.
    #[schema(value_type = Option<String>, example = "500.00")]
    monthly_usd: Option<NanoUsd>,
    /// The operator's amount; null if there is none.
    #[schema(value_type = Option<String>)]
    operator_monthly_usd: Option<NanoUsd>,
    /// Beside what its organization does when its own budget is spent.
    on_budget: OnBudgetView,
    end_users: EndUserSettingsView,
    /// The days for which responses are stored; null if they are not.
    #[schema(minimum = 1, maximum = 30)]
    response_retention_days: Option<u8>,
    /// How many times the tokens of a workspace of weight 1 it gets while calls of both wait. Set by the operator.
    #[schema(minimum = 1, maximum = 1000)]
    weight: u16,
    /// Increases with every change. A change names the version that it read.
    version: u64,
}

impl WorkspaceView {
    pub fn new(workspace: Workspace, defaults: &Limits) -> Self {
        let limits = workspace.limits(defaults);
        Self {
            id: workspace.id.to_string(),
            organization_id: workspace.organization.to_string(),
            name: workspace.name,
            requests_per_minute: limits.requests_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
            monthly_tokens: limits.monthly_tokens,
            max_api_keys: limits.max_api_keys,
            defaults: defaults.into(),
            monthly_usd: workspace.monthly_usd.cap(),
            operator_monthly_usd: workspace.monthly_usd.operator,
            on_budget: workspace.on_budget.into(),
            end_users: EndUserSettingsView::from(&workspace.end_users),
            response_retention_days: workspace.response_retention.map(ResponseRetention::days),
            weight: workspace.weight.get(),
            version: workspace.version,
        }
    }
}

/// The configured limits of workspaces.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DefaultLimits)]
struct DefaultLimitsView {
    requests_per_minute: u64,
    tokens_per_minute: u64,
    monthly_tokens: u64,
    max_api_keys: u64,
}

impl From<&Limits> for DefaultLimitsView {
    fn from(limits: &Limits) -> Self {
        Self {
            requests_per_minute: limits.requests_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
            monthly_tokens: limits.monthly_tokens,
            max_api_keys: limits.max_api_keys,
        }
    }
}
