use control::invoices::{DedicatedLine, Invoice, ServerlessLine};
use domain::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The data of an invoice for a workspace and a month. Amounts are decimal text in USD; lines add up to the total.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Invoice)]
pub struct InvoiceView {
    organization_id: String,
    organization: String,
    workspace_id: String,
    workspace: String,
    #[schema(example = "2026-11")]
    month: String,
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    #[schema(example = "USD")]
    currency: &'static str,
    /// False until 15 minutes after the end of the month.
    #[serde(rename = "final")]
    is_final: bool,
    serverless: Vec<ServerlessLineView>,
    dedicated: Vec<DedicatedLineView>,
    serverless_usd: String,
    dedicated_usd: String,
    total_usd: String,
}

/// All calls of a class to one model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ServerlessInvoiceLine)]
struct ServerlessLineView {
    model: String,
    /// `interactive`, `flex` for calls with `service_tier: "flex"`, or `batch` for lines of batches.
    #[schema(example = "interactive")]
    class: &'static str,
    requests: u64,
    prompt_tokens: u64,
    cached_tokens: u64,
    completion_tokens: u64,
    cost_usd: String,
}

/// The GPU-hours of one endpoint at one price.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DedicatedInvoiceLine)]
struct DedicatedLineView {
    endpoint_id: String,
    endpoint: String,
    model: String,
    flavor: String,
    gpu_type: String,
    price_per_gpu_hour: String,
    /// Billed GPU-hours.
    gpu_hours: String,
    /// GPU-hours of failed starts, which are not billed.
    unbilled_gpu_hours: String,
    cost_usd: String,
}

impl From<ServerlessLine> for ServerlessLineView {
    fn from(line: ServerlessLine) -> Self {
        Self {
            model: line.model.to_string(),
            class: line.class.as_str(),
            requests: line.totals.requests,
            prompt_tokens: line.totals.prompt_tokens,
            cached_tokens: line.totals.cached_tokens,
            completion_tokens: line.totals.completion_tokens,
            cost_usd: line.totals.cost.to_string(),
        }
    }
}

impl From<DedicatedLine> for DedicatedLineView {
    fn from(line: DedicatedLine) -> Self {
        Self {
            endpoint_id: line.endpoint.to_string(),
            endpoint: line.name,
            model: line.model.to_string(),
            flavor: line.flavor,
            gpu_type: line.gpu_type.to_string(),
            price_per_gpu_hour: line.price_per_gpu_hour.to_string(),
            gpu_hours: line.gpu_time.to_string(),
            unbilled_gpu_hours: line.unbilled.to_string(),
            cost_usd: line.cost.to_string(),
        }
    }
}

impl From<Invoice> for InvoiceView {
    fn from(invoice: Invoice) -> Self {
        Self {
            organization_id: invoice.organization.id.to_string(),
            organization: invoice.organization.name,
            workspace_id: invoice.workspace.id.to_string(),
            workspace: invoice.workspace.name,
            month: invoice.month.to_string(),
            from: invoice.span.from,
            to: invoice.span.to,
            currency: "USD",
            is_final: invoice.is_final,
            serverless: invoice.serverless.into_iter().map(ServerlessLineView::from).collect(),
            dedicated: invoice.dedicated.into_iter().map(DedicatedLineView::from).collect(),
            serverless_usd: invoice.serverless_cost.to_string(),
            dedicated_usd: invoice.dedicated_cost.to_string(),
            total_usd: invoice.total.to_string(),
        }
    }
}

/// The columns of the table: those of both kinds of lines, and one that distinguishes them.
const HEADER: [&str; 16] = [
    "month",
    "workspaceId",
    "workspace",
    "kind",
    "model",
    "endpoint",
    "flavor",
    "gpuType",
    "requests",
    "promptTokens",
    "cachedTokens",
    "completionTokens",
    "gpuHours",
    "pricePerGpuHour",
    "class",
    "costUsd",
];

impl InvoiceView {
    /// Column names, then one row per line. The sum of `costUsd` is the total.
    pub fn table(&self) -> Vec<Vec<String>> {
        let serverless = self.serverless.iter().map(|line| {
            let counts = [line.requests, line.prompt_tokens, line.cached_tokens, line.completion_tokens];
            let rest = counts.map(|count| count.to_string()).into_iter();
            let rest = rest.chain([String::new(), String::new(), line.class.to_owned(), line.cost_usd.clone()]);
            self.row(["serverless", &line.model, "", "", ""], rest)
        });
        let dedicated = self.dedicated.iter().map(|line| {
            let amounts = [&*line.gpu_hours, &*line.price_per_gpu_hour, "", &*line.cost_usd].map(str::to_owned);
            let rest = std::iter::repeat_n(String::new(), 4).chain(amounts);
            self.row(["dedicated", &line.model, &line.endpoint, &line.flavor, &line.gpu_type], rest)
        });
        [HEADER.map(str::to_owned).to_vec()].into_iter().chain(serverless).chain(dedicated).collect()
    }

    fn row(&self, what: [&str; 5], rest: impl Iterator<Item = String>) -> Vec<String> {
        let start = [&self.month, &self.workspace_id, &self.workspace].map(String::clone);
        start.into_iter().chain(what.map(str::to_owned)).chain(rest).collect()
    }
}
