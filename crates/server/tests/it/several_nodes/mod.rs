//! Three nodes on one PostgreSQL and one Redis share limits, quota and metering.

mod budgets;
mod deaths;
mod limits;
mod outages;
mod quota;
mod redis_failover;
mod stored_responses;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::quota::Account;
use domain::{Month, Timestamp, UsageEvent};
use serde_json::{Value, json};
use testkit::fake_engine::{FakeEngine, Script};
use testkit::http::{Client, Response};

use crate::app::{CONTENT_KEY, TIMEOUT, TestApp, chat, error_line, wait_until};
use crate::postgres::{Cable, Database};
use crate::redis::Redis;

const NODES: usize = 3;
/// A limit that no test reaches.
const MANY: u64 = 1_000_000_000_000;

/// The limits of the test's workspace.
#[derive(Clone, Copy)]
struct Limits {
    requests_per_minute: u64,
    tokens_per_minute: u64,
    monthly_tokens: u64,
}

const UNLIMITED: Limits = Limits { requests_per_minute: MANY, tokens_per_minute: MANY, monthly_tokens: MANY };

/// Three nodes with one engine behind them. All of them reach PostgreSQL through one cable.
struct Cluster {
    nodes: Vec<TestApp>,
    limits: Limits,
    redis: Redis,
    cable: Cable,
    database: Database,
}

impl Cluster {
    /// Nodes with a long Redis timeout: on a busy machine, 50 ms are not always enough.
    async fn start(limits: Limits) -> Self {
        Self::start_with_redis_timeout(limits, "10s").await
    }

    /// Nodes with the default Redis timeout.
    async fn start_with_default_timeout(limits: Limits) -> Self {
        Self::start_with_redis_timeout(limits, "50ms").await
    }

    async fn start_with_redis_timeout(limits: Limits, timeout: &str) -> Self {
        let database = Database::migrated().await;
        let cable = Cable::to(&database).await;
        let redis = Redis::start().await;
        let setup = || {
            let Limits { requests_per_minute, tokens_per_minute, monthly_tokens } = limits;
            TestApp::setup()
                .environment("FOREBAY_CONTENT_KEY", CONTENT_KEY)
                .store(&cable.url)
                .table(&format!("[limits]\nurl = \"{}\"\ntimeout = \"{timeout}\"", redis.url()))
                .workspace_limits(requests_per_minute, tokens_per_minute, monthly_tokens)
        };
        let first = setup().start().await;
        let (second, third) = tokio::join!(setup().start_beside(&first), setup().start_beside(&first));
        let mut nodes = vec![first, second, third];
        let key = nodes[0].key.clone();
        nodes.iter_mut().for_each(|node| key.clone_into(&mut node.key));
        Self { nodes, limits, redis, cable, database }
    }

    /// Waits until every node sees three live nodes.
    async fn all_are_known(&self) {
        for node in 0..NODES {
            wait_until("three nodes", TIMEOUT, async || self.gauge(node, "forebay_alive_nodes").await == 3).await;
        }
    }

    fn engine(&self) -> &FakeEngine {
        self.nodes[0].engine()
    }

    fn client(&self, node: usize) -> Client {
        self.nodes[node % NODES].client()
    }

    async fn ask(&self, node: usize, body: Value) -> Response {
        self.client(node).post_json("/chat/completions", body).await
    }

    async fn gauge(&self, node: usize, name: &str) -> i64 {
        let text = Client::new(self.nodes[node].forebay.ops).get("/metrics").await.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// This month's quota account in the store.
    async fn account(&self) -> Account {
        let store = self.nodes[0].store().await;
        let account =
            store::quota::account(&store, &self.nodes[0].workspace(), this_month(), self.limits.monthly_tokens).await;
        account.unwrap()
    }

    /// Waits for `count` events, and checks that the account matches them.
    async fn events(&self, count: usize) -> Vec<UsageEvent> {
        let events = self.nodes[0].usage(count).await;
        let sum: u64 = events.iter().map(|event| event.tokens.total()).sum();
        assert_eq!(self.account().await.used, sum, "the account is the sum of the events");
        events
    }

    async fn remove(self) {
        drop(self.nodes);
        self.database.remove().await;
    }
}

/// The responses that clients received, added up.
#[derive(Debug, Default)]
struct Tally {
    /// The ids of complete responses.
    served: Vec<String>,
    /// Tokens, by the usage in those responses.
    tokens: u64,
    /// `status code` of all others.
    rejected: Vec<String>,
}

impl Tally {
    fn add(&mut self, response: &Response) {
        if response.status == 200 {
            self.served.push(response.header("x-request-id").unwrap().to_owned());
            self.tokens += response.json()["usage"]["total_tokens"].as_u64().unwrap();
        } else {
            self.rejected.push(error_line(response));
        }
    }

    fn join(&mut self, other: Self) {
        self.served.extend(other.served);
        self.tokens += other.tokens;
        self.rejected.extend(other.rejected);
    }

    fn assert_rejected_only_with(&self, expected: &str) {
        assert!(self.rejected.iter().all(|code| code == expected), "{:?}", self.rejected);
    }
}

/// This many concurrent calls, distributed over all nodes.
async fn at_once(cluster: &Cluster, calls: usize, body: &Value) -> Tally {
    let mut in_flight = tokio::task::JoinSet::new();
    for call in 0..calls {
        let (client, body) = (cluster.client(call), body.clone());
        in_flight.spawn(async move { client.post_json("/chat/completions", body).await });
    }
    let mut tally = Tally::default();
    while let Some(response) = in_flight.join_next().await {
        tally.add(&response.unwrap());
    }
    tally
}

/// A chat whose upper bound is about `prompt + completion` tokens: each byte of the prompt may be a token.
fn chat_of(prompt: usize, completion: u64) -> Value {
    let mut body = chat(&"x".repeat(prompt));
    body["max_tokens"] = json!(completion);
    body
}

/// An engine that uses all of `chat_of(prompt, completion)`.
fn uses(prompt: u64, completion: u64) -> Script {
    Script { prompt_tokens: prompt, completion_tokens: Some(completion), ..Script::default() }
}

fn this_month() -> Month {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Month::of(Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap()))
}

/// The most calls that a bucket of `per_minute` admits in `time`, starting full, plus one for rounding.
fn at_most(per_minute: u64, time: Duration) -> u64 {
    per_minute + per_minute * u64::try_from(time.as_millis()).unwrap() / 60_000 + 1
}
