//! A batch that runs beside other calls, and is cancelled when it has been measured.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::Client;
use testkit::http::form::{form, form_client};

use super::load::{LENGTHS, Tenant};
use crate::hostile::gateway::text;

/// The most lines that the gateway takes in a file, unless configured otherwise.
const MOST_LINES: usize = 50_000;
/// Between two looks at a batch that is being cancelled, and how often that is done.
const POLL_PERIOD: Duration = Duration::from_millis(200);
const MOST_POLLS: u32 = 150;

pub(super) struct RunningBatch {
    client: Client,
    path: String,
}

impl RunningBatch {
    /// Uploads the lines, whose responses differ in length like those of people, and creates their batch.
    pub(super) async fn start(tenant: &Tenant, lines: usize) -> anyhow::Result<Self> {
        let bodies: Vec<Value> = LENGTHS.map(|length| tenant.request(false, length)).collect();
        let line = |(number, body): (usize, &Value)| {
            let url = "/v1/chat/completions";
            json!({"custom_id": number.to_string(), "method": "POST", "url": url, "body": body}).to_string() + "\n"
        };
        let content: String = bodies.iter().cycle().take(lines.min(MOST_LINES)).enumerate().map(line).collect();
        let upload = form(&[("purpose", "batch")], Some(&content));
        let file = call(&form_client(tenant.client.clone()), Method::POST, "/files", upload).await?;
        let request = json!({
            "input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h",
        });
        let client = tenant.client.clone();
        let batch = call(&client, Method::POST, "/batches", request.to_string()).await?;
        Ok(Self { client, path: format!("/batches/{}", text(&batch["id"])) })
    }

    /// Ends the batch, and returns how many of its lines have succeeded. It must still have had lines to run, and none may have
    /// failed.
    pub(super) async fn cancel(self) -> anyhow::Result<u64> {
        let Self { client, path } = self;
        let running = call(&client, Method::GET, &path, "").await?;
        let is_good = running["status"] == "in_progress" && running["request_counts"]["failed"] == 0;
        ensure!(is_good, "the batch ended early, or lines have failed: {running}");
        call(&client, Method::POST, &format!("{path}/cancel"), "").await?;
        for _ in 0..MOST_POLLS {
            let batch = call(&client, Method::GET, &path, "").await?;
            if batch["status"] == "cancelled" {
                return batch["request_counts"]["completed"].as_u64().context("the batch has no counts");
            }
            tokio::time::sleep(POLL_PERIOD).await;
        }
        bail!("the batch is not cancelled after {:?}", POLL_PERIOD * MOST_POLLS)
    }
}

async fn call(client: &Client, method: Method, path: &str, body: impl Into<Bytes>) -> anyhow::Result<Value> {
    let response = client.try_send(method, path, body.into()).await?;
    ensure!(response.status == 200, "{path} was rejected: {}", response.text());
    Ok(response.json())
}
