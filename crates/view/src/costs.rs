use super::usage::{UsageLineView, UsageReportView};
use control::costs::{Amount, ClassCosts, Costs, DayCosts};
use domain::quota::{Account, AccountOwner};
use domain::{NanoUsd, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// The costs of a workspace in a month, up to now.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Costs)]
pub struct CostsView {
    #[schema(example = "2026-11")]
    month: String,
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// Now, or the end of a past month.
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    /// Calls to models of the catalogue, by their tokens.
    serverless: AmountView,
    classes: ClassCostsView,
    /// Dedicated endpoints, by their GPU-hours.
    dedicated: AmountView,
    total: AmountView,
    /// GPU-hours held by dedicated endpoints, decimal text.
    gpu_hours: String,
    /// Every day of the month that has begun, in UTC.
    days: Vec<DayCostsView>,
    /// The monthly budget of the workspace, or that of its organization if only that is spent or has less left; null if there is
    /// none, and for past months.
    budget: Option<MonthlyBudgetView>,
    /// If grouped: one line per group with calls, whose costs add up to those of `serverless`. Calls to dedicated endpoints cost
    /// nothing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    groups: Option<Vec<UsageLineView>>,
}

/// A monthly budget and what is left of it. GPU-hours are added up once a minute.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MonthlyBudget)]
struct MonthlyBudgetView {
    /// Whether all workspaces of the organization share it.
    of_organization: bool,
    #[schema(value_type = String)]
    usd: NanoUsd,
    #[schema(value_type = String)]
    used_usd: NanoUsd,
    /// Reserved by nodes for running calls and those to come.
    #[schema(value_type = String)]
    reserved_usd: NanoUsd,
    #[schema(value_type = String)]
    left_usd: NanoUsd,
}

impl From<Account> for MonthlyBudgetView {
    fn from(account: Account) -> Self {
        let usd = NanoUsd::from_unsigned;
        Self {
            of_organization: account.owner == AccountOwner::Organization,
            usd: usd(account.cap),
            used_usd: usd(account.used),
            reserved_usd: usd(account.reserved),
            left_usd: usd(account.left()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CostAmount)]
struct AmountView {
    /// Decimal text in USD.
    cost_usd: String,
    /// A forecast for the whole month; null in its first hour. For a past month, its cost.
    forecast_usd: Option<String>,
}

/// The parts of a serverless cost by the class of the calls. They add up to it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ClassCosts)]
struct ClassCostsView {
    interactive_usd: String,
    /// Calls with `service_tier: "flex"`.
    flex_usd: String,
    /// Lines of batches.
    batch_usd: String,
}

impl From<ClassCosts> for ClassCostsView {
    fn from(costs: ClassCosts) -> Self {
        let ClassCosts { interactive, flex, batch } = costs;
        let [interactive_usd, flex_usd, batch_usd] = [interactive, flex, batch].map(|usd| usd.to_string());
        Self { interactive_usd, flex_usd, batch_usd }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DayCosts)]
struct DayCostsView {
    #[schema(format = Date)]
    day: String,
    serverless_usd: String,
    classes: ClassCostsView,
    dedicated_usd: String,
    total_usd: String,
    gpu_hours: String,
}

impl From<Amount> for AmountView {
    fn from(amount: Amount) -> Self {
        Self { cost_usd: amount.cost.to_string(), forecast_usd: amount.forecast.map(|usd| usd.to_string()) }
    }
}

impl From<&DayCosts> for DayCostsView {
    fn from(day: &DayCosts) -> Self {
        let mut total = day.serverless;
        total += day.dedicated;
        Self {
            day: day.day.to_string(),
            serverless_usd: day.serverless.to_string(),
            classes: day.classes.into(),
            dedicated_usd: day.dedicated.to_string(),
            total_usd: total.to_string(),
            gpu_hours: day.gpu_time.to_string(),
        }
    }
}

impl CostsView {
    pub fn new(costs: &Costs, budget: Option<Account>) -> Self {
        Self {
            budget: budget.map(MonthlyBudgetView::from),
            groups: None,
            month: costs.month.to_string(),
            from: costs.span.from,
            to: costs.span.to,
            serverless: costs.serverless.into(),
            classes: costs.classes.into(),
            dedicated: costs.dedicated.into(),
            total: costs.total.into(),
            gpu_hours: costs.gpu_time.to_string(),
            days: costs.days.iter().map(DayCostsView::from).collect(),
        }
    }

    /// Adds the serverless calls by group.
    pub fn with_groups(self, report: Option<UsageReportView>) -> Self {
        Self { groups: report.map(UsageReportView::into_lines), ..self }
    }

    /// Column names, then one row per day, without the total.
    pub fn table(&self) -> Vec<Vec<String>> {
        let header = ["day", "serverlessUsd", "dedicatedUsd", "totalUsd", "gpuHours", "flexUsd", "batchUsd"];
        let header = header.map(str::to_owned).to_vec();
        let row = |day: &DayCostsView| {
            let DayCostsView { day, serverless_usd, classes, dedicated_usd, total_usd, gpu_hours } = day;
            let ClassCostsView { interactive_usd: _, flex_usd, batch_usd } = classes;
            [day, serverless_usd, dedicated_usd, total_usd, gpu_hours, flex_usd, batch_usd].map(String::clone).to_vec()
        };
        [header].into_iter().chain(self.days.iter().map(row)).collect()
    }

    /// The last row of the table.
    pub fn total_rows(&self) -> Vec<Vec<String>> {
        let kinds = [&self.serverless, &self.dedicated, &self.total];
        let costs = kinds.map(|amount| amount.cost_usd.clone());
        let forecasts = kinds.map(|amount| amount.forecast_usd.clone().unwrap_or_default());
        let parts = [&self.gpu_hours, &self.classes.flex_usd, &self.classes.batch_usd].map(String::clone);
        let total = ["total".to_owned()].into_iter().chain(costs).chain(parts).collect();
        let none = std::array::from_fn::<_, 3, _>(|_| String::new());
        let forecast = ["forecast".to_owned()].into_iter().chain(forecasts).chain(none).collect();
        vec![total, forecast]
    }
}
