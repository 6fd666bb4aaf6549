//! Commands on one endpoint: created, rescaled, suspended, resumed and deleted, again and again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::Client;

use super::Load;
use crate::cluster::FLAVOR;
use crate::cluster::network::public;
use crate::history::{Action, CommandOutcome};
use crate::random::Random;
use crate::schedule::NODES;

/// Time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A command is repeated, with its idempotency key, until it has a clear outcome or this has passed.
const GIVE_UP_AFTER: Duration = Duration::from_secs(90);
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// Between two commands, in milliseconds.
const PAUSE: (u64, u64) = (3_000, 9_000);

pub(super) async fn command_until_stopped(
    load: Arc<Load>,
    name: &'static str,
    model: &'static str,
    mut random: Random,
) -> anyhow::Result<()> {
    let create = json!({"name": name, "model": model, "flavor": FLAVOR, "replicas": 1});
    let path = format!("/endpoints/{name}");
    loop {
        let name = || name.to_owned();
        let mut steps =
            vec![(Method::POST, "/endpoints".to_owned(), create.clone(), Action::CreateEndpoint { name: name() })];
        for _ in 0..random.between(2, 5) {
            let (method, path, body, action) = match random.below(3) {
                0 => (Method::POST, format!("{path}/suspend"), json!({}), Action::SuspendEndpoint { name: name() }),
                1 => (Method::POST, format!("{path}/resume"), json!({}), Action::ResumeEndpoint { name: name() }),
                _ => {
                    let change = json!({"replicas": random.between(1, 2)});
                    (Method::PATCH, path.clone(), change, Action::RescaleEndpoint { name: name() })
                }
            };
            steps.push((method, path, body, action));
        }
        for (method, path, body, action) in steps {
            if load.is_stopped() {
                return Ok(());
            }
            command(&load, &method, &path, &body, action, &mut random).await?;
            load.sleep(Duration::from_millis(random.between(PAUSE.0, PAUSE.1))).await;
        }
        if load.is_stopped() {
            return Ok(());
        }
        command(&load, &Method::DELETE, &path, &Value::Null, Action::DeleteEndpoint { name: name() }, &mut random)
            .await?;
        load.sleep(Duration::from_millis(random.between(PAUSE.0, PAUSE.1))).await;
    }
}

pub(super) async fn delete(load: &Load, name: &str) -> anyhow::Result<()> {
    let (path, action) = (format!("/endpoints/{name}"), Action::DeleteEndpoint { name: name.to_owned() });
    command(load, &Method::DELETE, &path, &Value::Null, action, &mut Random::new(load.recorder.now())).await
}

/// Sends a command to one node after the other until one of them says what became of it.
async fn command(
    load: &Load,
    method: &Method,
    path: &str,
    body: &Value,
    action: Action,
    random: &mut Random,
) -> anyhow::Result<()> {
    let (began, deadline) = (load.recorder.now(), Instant::now() + GIVE_UP_AFTER);
    let idempotency_key = format!("campaign-{:016x}", random.draw());
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let (mut is_clear, mut last) = (true, "no node responded".to_owned());
    while Instant::now() < deadline {
        let client = Client::new(format!("http://{}/v1", public(random.index(NODES))));
        let client = client.key(&load.tenants.dedicated.text).header("idempotency-key", &idempotency_key);
        let request = client.try_send(method.clone(), path, body.clone());
        match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
            Ok(Ok(response)) if response.status.is_success() => {
                return load.record_command(began, action, CommandOutcome::Acknowledged);
            }
            // A request that was lost may have taken effect, so that its repetition is rejected.
            Ok(Ok(response)) if response.status.is_client_error() && response.status != 429 => {
                let code = response.text();
                let outcome =
                    if is_clear { CommandOutcome::Rejected { code } } else { CommandOutcome::Unknown { error: code } };
                return load.record_command(began, action, outcome);
            }
            Ok(Ok(response)) => last = response.status_line(),
            Ok(Err(error)) => {
                is_clear &= error.to_string() == "connect";
                last = format!("{error:#}");
            }
            Err(_) => {
                is_clear = false;
                last = "timeout".to_owned();
            }
        }
        tokio::time::sleep(RETRY_EVERY).await;
    }
    load.record_command(began, action, CommandOutcome::Unknown { error: last })
}
