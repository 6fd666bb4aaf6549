use control::costs::{Amount, Costs, DayCosts};
use domain::gpu_time::GpuMillis;
use domain::{NanoUsd, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// The costs of a workspace in a month, up to now.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Costs)]
pub(crate) struct CostsView {
    #[schema(example = "2026-11")]
    month: String,
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// Now, or the end of a past month.
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    /// Calls to models of the catalogue, by their tokens.
    serverless: AmountView,
    /// Dedicated endpoints, by their GPU-hours.
    dedicated: AmountView,
    total: AmountView,
    /// GPU-hours held by dedicated endpoints, decimal text.
    #[schema(value_type = String)]
    gpu_hours: GpuMillis,
    /// Every day of the month that has begun, in UTC.
    days: Vec<DayCostsView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CostAmount)]
struct AmountView {
    /// Decimal text in USD.
    #[schema(value_type = String)]
    cost_usd: NanoUsd,
    /// A forecast for the whole month; null in its first hour. For a past month, its cost.
    #[schema(value_type = Option<String>)]
    forecast_usd: Option<NanoUsd>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DayCosts)]
struct DayCostsView {
    #[schema(format = Date)]
    day: String,
    #[schema(value_type = String)]
    serverless_usd: NanoUsd,
    #[schema(value_type = String)]
    dedicated_usd: NanoUsd,
    #[schema(value_type = String)]
    total_usd: NanoUsd,
    #[schema(value_type = String)]
    gpu_hours: GpuMillis,
}

impl From<Amount> for AmountView {
    fn from(amount: Amount) -> Self {
        Self { cost_usd: amount.cost, forecast_usd: amount.forecast }
    }
}

impl From<&DayCosts> for DayCostsView {
    fn from(day: &DayCosts) -> Self {
        let mut total_usd = day.serverless;
        total_usd += day.dedicated;
        Self {
            day: day.day.to_string(),
            serverless_usd: day.serverless,
            dedicated_usd: day.dedicated,
            total_usd,
            gpu_hours: day.gpu_time,
        }
    }
}

impl From<Costs> for CostsView {
    fn from(costs: Costs) -> Self {
        Self {
            month: costs.month.to_string(),
            from: costs.span.from,
            to: costs.span.to,
            serverless: costs.serverless.into(),
            dedicated: costs.dedicated.into(),
            total: costs.total.into(),
            gpu_hours: costs.gpu_time,
            days: costs.days.iter().map(DayCostsView::from).collect(),
        }
    }
}

impl CostsView {
    /// Column names, then one row per day, without the total.
    pub(crate) fn table(&self) -> Vec<Vec<String>> {
        let header = ["day", "serverlessUsd", "dedicatedUsd", "totalUsd", "gpuHours"].map(str::to_owned).to_vec();
        let row = |day: &DayCostsView| {
            let amounts = [day.serverless_usd, day.dedicated_usd, day.total_usd].map(|usd| usd.to_string());
            [day.day.clone()].into_iter().chain(amounts).chain([day.gpu_hours.to_string()]).collect()
        };
        [header].into_iter().chain(self.days.iter().map(row)).collect()
    }

    /// The last row of the table.
    pub(crate) fn total_rows(&self) -> Vec<Vec<String>> {
        let kinds = [&self.serverless, &self.dedicated, &self.total];
        let costs = kinds.map(|amount| amount.cost_usd.to_string());
        let forecasts = kinds.map(|amount| amount.forecast_usd.map_or_else(String::new, |usd| usd.to_string()));
        let total = ["total".to_owned()].into_iter().chain(costs).chain([self.gpu_hours.to_string()]).collect();
        let forecast = ["forecast".to_owned()].into_iter().chain(forecasts).chain([String::new()]).collect();
        vec![total, forecast]
    }
}
