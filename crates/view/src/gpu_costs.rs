use control::gpu_costs::GpuCostReport;
use domain::Timestamp;
use domain::gpu_costs::{Dimension, Group};
use domain::gpu_time::Measure;
use serde::Serialize;
use utoipa::ToSchema;

/// GPU-hours, their cost and how busy the GPUs were, by group and in total.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GpuCosts)]
pub struct GpuCostsView {
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// Never after now.
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    data: Vec<GpuCostsLine>,
    total: GpuCostsTotal,
    #[serde(skip)]
    dimensions: Vec<Dimension>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct GpuCostsLine {
    /// If grouped by day, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = Date)]
    day: Option<String>,
    /// If grouped by workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    workspace_id: Option<String>,
    /// If grouped by endpoint. The endpoint may have been deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    endpoint_id: Option<String>,
    /// Its name, if grouped by endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    endpoint: Option<String>,
    /// If grouped by GPU type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    gpu_type: Option<String>,
    #[serde(flatten)]
    amounts: GpuCostsTotal,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct GpuCostsTotal {
    /// GPUs held times hours, decimal text. Includes failed starts, which cost nothing.
    gpu_hours: String,
    /// Decimal text in USD.
    cost_usd: String,
    /// How busy the GPUs were, a fraction: the mean over windows of five minutes in which an endpoint held GPUs. A
    /// window without measurements counts as 0.
    utilization: f64,
    /// False if no window has a measurement, as on hardware that reports none: then `utilization` says nothing.
    utilization_measured: bool,
}

impl From<Measure> for GpuCostsTotal {
    fn from(measure: Measure) -> Self {
        Self {
            gpu_hours: measure.gpu_time.to_string(),
            cost_usd: measure.cost.to_string(),
            utilization: measure.busy().fraction(),
            utilization_measured: measure.is_measured(),
        }
    }
}

impl From<GpuCostReport> for GpuCostsView {
    fn from(report: GpuCostReport) -> Self {
        let line = |(group, measure): (Group, Measure)| {
            let (endpoint_id, endpoint) = group.endpoint.map(|(id, name)| (id.to_string(), name)).unzip();
            GpuCostsLine {
                day: group.day.map(|day| day.to_string()),
                workspace_id: group.workspace.map(|id| id.to_string()),
                endpoint_id,
                endpoint,
                gpu_type: group.gpu_type.map(|gpu_type| gpu_type.to_string()),
                amounts: measure.into(),
            }
        };
        Self {
            from: report.span.from,
            to: report.span.to,
            data: report.lines.into_iter().map(line).collect(),
            total: report.total.into(),
            dimensions: report.dimensions,
        }
    }
}

impl GpuCostsView {
    /// Column names, then the lines, without the total. A utilization that was not measured is empty.
    pub fn table(&self) -> Vec<Vec<String>> {
        let header = self.dimensions.iter().flat_map(|dimension| match dimension {
            Dimension::Day => &["day"][..],
            Dimension::Workspace => &["workspaceId"],
            Dimension::Endpoint => &["endpointId", "endpoint"],
            Dimension::GpuType => &["gpuType"],
        });
        let header = header.copied().chain(["gpuHours", "costUsd", "utilization"]).map(str::to_owned).collect();
        [header].into_iter().chain(self.data.iter().map(|line| self.row(line))).collect()
    }

    fn row(&self, line: &GpuCostsLine) -> Vec<String> {
        let mut cells = Vec::new();
        for dimension in &self.dimensions {
            let members = match dimension {
                Dimension::Day => vec![&line.day],
                Dimension::Workspace => vec![&line.workspace_id],
                Dimension::Endpoint => vec![&line.endpoint_id, &line.endpoint],
                Dimension::GpuType => vec![&line.gpu_type],
            };
            cells.extend(members.into_iter().map(|member| member.clone().unwrap_or_default()));
        }
        let GpuCostsTotal { gpu_hours, cost_usd, utilization, utilization_measured } = &line.amounts;
        let utilization = if *utilization_measured { utilization.to_string() } else { String::new() };
        cells.extend([gpu_hours.clone(), cost_usd.clone(), utilization]);
        cells
    }
}
