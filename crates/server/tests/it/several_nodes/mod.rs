//! Three gateways on one PostgreSQL and one Redis: limits, quota and meter are one thing over all of them.

mod deaths;
mod limits;
mod outages;
mod quota;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::quota::Account;
use domain::{Month, Timestamp, UsageEvent};
use serde_json::{Value, json};
use testkit::fake_engine::{FakeEngine, Script};
use testkit::http::{Client, Response};

use crate::app::{PATIENCE, TestApp, chat, refusal, wait_until};
use crate::postgres::{Cable, Database};
use crate::redis::Redis;

const NODES: usize = 3;
/// A limit that no story comes near.
const MANY: u64 = 1_000_000_000_000;

/// What a workspace of the story may do.
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
    /// Nodes that wait for Redis as long as it takes: on a busy machine, 50 ms are not always enough.
    async fn start(limits: Limits) -> Self {
        Self::start_with_patience(limits, "10s").await
    }

    /// Nodes that wait for Redis as long as most do.
    async fn start_impatient(limits: Limits) -> Self {
        Self::start_with_patience(limits, "50ms").await
    }

    async fn start_with_patience(limits: Limits, patience: &str) -> Self {
        let database = Database::create().await;
        let cable = Cable::to(&database).await;
        let redis = Redis::start().await;
        let setup = || {
            let Limits { requests_per_minute, tokens_per_minute, monthly_tokens } = limits;
            TestApp::setup()
                .store(&cable.url)
                .table(&format!("[limits]\nurl = \"{}\"\ntimeout = \"{patience}\"", redis.url()))
                .workspace_limits(requests_per_minute, tokens_per_minute, monthly_tokens)
        };
        let first = setup().start().await;
        let (second, third) = tokio::join!(setup().start_beside(&first), setup().start_beside(&first));
        let mut nodes = vec![first, second, third];
        let key = nodes[0].key.clone();
        nodes.iter_mut().for_each(|node| key.clone_into(&mut node.key));
        Self { nodes, limits, redis, cable, database }
    }

    /// Waits until every node knows that there are three.
    async fn all_are_known(&self) {
        for node in 0..NODES {
            wait_until("three nodes", PATIENCE, async || self.gauge(node, "forebay_alive_nodes").await == 3).await;
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

    /// What the store says of this month, of whatever is in it now.
    async fn account(&self) -> Account {
        let store = self.nodes[0].store().await;
        let account =
            store::quota::account(&store, &self.nodes[0].workspace(), this_month(), self.limits.monthly_tokens).await;
        account.unwrap()
    }

    /// The events once there are so many, after a look whether the account agrees with them.
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

/// What clients were told, added up.
#[derive(Debug, Default)]
struct Tally {
    /// The ids of whole answers.
    served: Vec<String>,
    /// Tokens, by the usage in those answers.
    tokens: u64,
    /// `status code` of all others.
    refused: Vec<String>,
}

impl Tally {
    fn add(&mut self, answer: &Response) {
        if answer.status == 200 {
            self.served.push(answer.header("x-request-id").unwrap().to_owned());
            self.tokens += answer.json()["usage"]["total_tokens"].as_u64().unwrap();
        } else {
            self.refused.push(refusal(answer));
        }
    }

    fn join(&mut self, other: Self) {
        self.served.extend(other.served);
        self.tokens += other.tokens;
        self.refused.extend(other.refused);
    }

    fn assert_refused_only_with(&self, expected: &str) {
        assert!(self.refused.iter().all(|refused| refused == expected), "{:?}", self.refused);
    }
}

/// So many calls at once, dealt to all nodes in turn.
async fn at_once(cluster: &Cluster, calls: usize, body: &Value) -> Tally {
    let mut under_way = tokio::task::JoinSet::new();
    for call in 0..calls {
        let (client, body) = (cluster.client(call), body.clone());
        under_way.spawn(async move { client.post_json("/chat/completions", body).await });
    }
    let mut tally = Tally::default();
    while let Some(answer) = under_way.join_next().await {
        tally.add(&answer.unwrap());
    }
    tally
}

/// A chat that may use about so much in all, and does: its prompt has so many bytes that it may have as many tokens.
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

/// What a bucket of so many per minute lets pass at once and in so much time; one more for the moment of counting.
fn at_most(per_minute: u64, time: Duration) -> u64 {
    per_minute + per_minute * u64::try_from(time.as_millis()).unwrap() / 60_000 + 1
}
