//! The queries of a dashboard and their latency.

use anyhow::{Context, ensure};
use domain::{Timestamp, WorkspaceId};
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};
use testkit::http::Client;
use tokio::task::JoinSet;

/// The charts of one dashboard; the console requests all of them at once.
const CHARTS: [&str; 10] = [
    "metric=requests",
    "metric=requests&groupBy=model",
    "metric=errors&groupBy=code",
    "metric=tokens",
    "metric=ttft",
    "metric=time_per_output_token",
    "metric=latency",
    "metric=in_flight",
    "metric=rate_limit_hits",
    "metric=cold_starts",
];
/// Further charts that a user may open.
const OTHERS: [&str; 5] = [
    "metric=latency&groupBy=model",
    "metric=requests&groupBy=key",
    "metric=latency&model=acme/model-3",
    "metric=tokens&key=key_00000000010000000000000003",
    "metric=latency&groupBy=key&model=acme/model-3",
];

/// A client with a session.
pub(crate) async fn sign_in(public: SocketAddr, email: &str, password: &str) -> anyhow::Result<Client> {
    let client = Client::new(public);
    let response = client.post_json("/api/session", json!({"email": email, "password": password})).await;
    ensure!(response.status == 200, "{}", response.text());
    let cookie = response.header("set-cookie").and_then(|cookie| cookie.split(';').next()).context("no session")?;
    Ok(client.clone().header("cookie", cookie))
}

pub(crate) async fn run_all(
    session: &Client,
    workspace: &WorkspaceId,
    organization: &str,
    days: u32,
    rounds: usize,
) -> anyhow::Result<()> {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis();
    let to = Timestamp::from_millis(i64::try_from(since_1970)?);
    let from = to.plus_millis(-i64::from(days) * 86_400_000);
    let base = format!("/api/workspaces/{workspace}");
    let chart = |query: &str, step: &str| format!("{base}/metrics?{query}&from={from}&to={to}{step}");

    println!("{:<72} {:>10} {:>10}", "responses in milliseconds", "median", "slowest");
    for (named, step) in [("per hour, 720 points", "&step=hour"), ("with the default step", "")] {
        let all: Vec<String> = CHARTS.iter().map(|query| chart(query, step)).collect();
        let mut times = Vec::new();
        for _ in 0..rounds {
            times.push(fetch_together(session, &all).await?);
        }
        print(&format!("the dashboard: {} charts at once, {named}", all.len()), times);
    }
    for query in CHARTS.iter().chain(&OTHERS) {
        one(session, &chart(query, "&step=hour"), &format!("  {query}&step=hour"), rounds).await?;
    }
    for (path, named) in [
        (format!("{base}/requests"), "requests, the newest 100"),
        (format!("{base}/requests?status=5xx"), "requests?status=5xx"),
        (format!("{base}/requests?model=acme/model-9"), "requests?model= (a rare one)"),
        (format!("{base}/requests?key=key_00000000010000000000000000&code=nothing"), "requests?code= (none is found)"),
        (format!("{base}/requests?model=acme/none"), "requests?model= (none is found)"),
        (format!("{base}/usage?groupBy=model,key,day"), "usage?groupBy=model,key,day"),
        (format!("{base}/costs"), "costs"),
        (format!("{base}/invoice"), "invoice"),
        (format!("/api/organizations/{organization}/gpu-costs?groupBy=endpoint,day"), "gpu-costs"),
    ] {
        one(session, &path, named, rounds).await?;
    }
    Ok(())
}

async fn one(session: &Client, path: &str, named: &str, rounds: usize) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        times.push(fetch_together(session, &[path.to_owned()]).await?);
    }
    print(named, times);
    Ok(())
}

/// Requests all paths concurrently and returns the time until the last response.
async fn fetch_together(session: &Client, paths: &[String]) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let mut requests = JoinSet::new();
    for path in paths {
        let (session, path) = (session.clone(), path.clone());
        requests.spawn(async move { (session.get(&path).await, path) });
    }
    while let Some(joined) = requests.join_next().await {
        let (response, path) = joined?;
        ensure!(response.status == 200, "{path}: {}", response.text());
    }
    Ok(started.elapsed())
}

fn print(named: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let millis = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1_000.0);
    println!("{named:<72} {:>10.1} {:>10.1}", millis(times.get(times.len() / 2)), millis(times.last()));
}
