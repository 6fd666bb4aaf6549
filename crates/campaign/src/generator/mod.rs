//! The load: calls with keys of several workspaces to all nodes, keys that come and go, endpoint commands, and quotas.

mod calls;
mod endpoints;
mod keys;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio::task::JoinSet;

use super::cluster::{ALLOTMENT, Cluster, REAL_REPLICAS, SCRIPTED_REPLICAS};
use super::history::{Action, Budget, Command, CommandOutcome, Record, Recorder, Start, Workspace};
use super::random::Random;
use super::schedule::NODES;

/// Tasks that call, each after a pause.
const CALLERS: u64 = 24;
/// Requests per minute of the limited workspace, which gets about seven times as many calls.
const LIMITED_REQUESTS: u64 = 30;
/// Tokens that the capped workspace gets per second of the campaign: about a quarter of what is asked for.
const CAPPED_TOKENS_PER_SECOND: u64 = 600;
/// Nano-dollars that each budget gets per second of the campaign: about a quarter of what is asked for.
const BUDGET_PER_SECOND: u64 = 300_000;
/// How often the cap is raised.
const RAISE_EVERY: Duration = Duration::from_secs(20);

/// A key that can be used.
#[derive(Debug, Clone)]
pub(super) struct UsableKey {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) workspace: String,
}

/// The workspaces of the campaign, by what they are for.
pub(super) struct Tenants {
    pub(super) steady: UsableKey,
    pub(super) limited: UsableKey,
    pub(super) capped: UsableKey,
    pub(super) dedicated: UsableKey,
    /// `None` with a release that has no budgets.
    pub(super) budgeted: Option<Budgeted>,
    /// Monthly tokens of the capped workspace.
    cap: u64,
}

/// Keys whose calls cost no more than a budget.
pub(super) struct Budgeted {
    /// With a budget of its own.
    pub(super) alone: UsableKey,
    /// The keys of two workspaces whose organization has a monthly budget.
    pub(super) together: [UsableKey; 2],
    /// The cap of each budget, in nano-dollars.
    cap: u64,
}

impl Budgeted {
    async fn create(cluster: &Cluster, organization: &str, seconds: u64) -> anyhow::Result<Self> {
        let cap = BUDGET_PER_SECOND * seconds;
        let usd = format!("0.{cap:09}");
        let shared = text(&cluster.admin("organizations create --name budgeted").await?["id"])?;
        cluster.admin(&format!("organizations set {shared} --monthly-usd {usd}")).await?;
        Ok(Self {
            alone: tenant(cluster, organization, "alone", "", &format!("--budget total={usd}")).await?,
            together: [
                tenant(cluster, &shared, "first", "", "").await?,
                tenant(cluster, &shared, "second", "", "").await?,
            ],
            cap,
        })
    }

    fn budgets(&self) -> Vec<Budget> {
        let budget = |name: &str, keys: &[UsableKey], is_monthly| Budget {
            name: name.to_owned(),
            keys: keys.iter().map(|key| key.id.clone()).collect(),
            cap: self.cap.cast_signed(),
            is_monthly,
        };
        vec![
            budget("of a key", std::slice::from_ref(&self.alone), false),
            budget("of an organization", &self.together, true),
        ]
    }
}

impl Tenants {
    /// Creates workspaces and keys, for a campaign of this length.
    pub(super) async fn create(cluster: &Cluster, seconds: u64) -> anyhow::Result<Self> {
        let organization = text(&cluster.bootstrap()?["organizationId"])?;
        let cap = CAPPED_TOKENS_PER_SECOND * seconds;
        let limits = format!("--requests-per-minute {LIMITED_REQUESTS}");
        Ok(Self {
            steady: tenant(cluster, &organization, "steady", "", "").await?,
            limited: tenant(cluster, &organization, "limited", &limits, "").await?,
            capped: tenant(cluster, &organization, "capped", &format!("--monthly-tokens {cap}"), "").await?,
            dedicated: tenant(cluster, &organization, "dedicated", "", "").await?,
            budgeted: match cluster.has_previous() {
                false => Some(Budgeted::create(cluster, &organization, seconds).await?),
                true => None,
            },
            cap,
        })
    }
}

/// What all tasks of the generator share.
pub(super) struct Load {
    pub(super) cluster: Arc<Cluster>,
    pub(super) recorder: Recorder,
    pub(super) tenants: Tenants,
    seed: u64,
    stopped: AtomicBool,
    calls: AtomicU64,
    /// Keys of the steady workspace that were created in the campaign: the valid ones, and the revoked ones.
    valid: Mutex<Vec<(UsableKey, u64)>>,
    revoked: Mutex<Vec<UsableKey>>,
}

impl Load {
    /// Records how the campaign starts. The clocks of the nodes show `wall_millis` now.
    pub(super) fn new(
        cluster: Arc<Cluster>,
        recorder: Recorder,
        tenants: Tenants,
        seed: u64,
        wall_millis: i64,
    ) -> anyhow::Result<Arc<Self>> {
        let Tenants { steady, limited, capped, dedicated, budgeted, cap } = &tenants;
        let workspace = |key: &UsableKey, requests_per_minute, monthly_tokens| Workspace {
            id: key.workspace.clone(),
            requests_per_minute,
            monthly_tokens,
        };
        let workspaces = vec![
            workspace(steady, None, None),
            workspace(limited, Some(LIMITED_REQUESTS), None),
            workspace(capped, None, Some(*cap)),
            workspace(dedicated, None, None),
        ];
        let budgets = budgeted.as_ref().map(Budgeted::budgets).unwrap_or_default();
        let start = Start { seed, wall_millis, nodes: NODES, allotment: ALLOTMENT, workspaces, budgets };
        recorder.add(&Record::Start(start))?;
        Ok(Arc::new(Self {
            cluster,
            recorder,
            tenants,
            seed,
            stopped: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            valid: Mutex::default(),
            revoked: Mutex::default(),
        }))
    }

    /// Starts all tasks. They end after [`Load::stop`].
    pub(super) fn start(self: &Arc<Self>) -> JoinSet<anyhow::Result<()>> {
        let mut tasks = JoinSet::new();
        for caller in 0..CALLERS {
            tasks.spawn(calls::call_until_stopped(Arc::clone(self), Random::new(self.seed ^ (caller + 1))));
        }
        tasks.spawn(keys::create_and_revoke(Arc::clone(self)));
        tasks.spawn(raise_cap(Arc::clone(self)));
        for (number, (name, model)) in ENDPOINTS.into_iter().enumerate() {
            let random = Random::new(self.seed ^ (1_000 + number as u64));
            tasks.spawn(endpoints::command_until_stopped(Arc::clone(self), name, model, random));
        }
        tasks
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn call_count(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn next_number(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// Sleeps, but not beyond the end of the campaign.
    async fn sleep(&self, time: Duration) {
        const STEP: Duration = Duration::from_millis(200);
        let mut left = time;
        while !left.is_zero() && !self.is_stopped() {
            let step = left.min(STEP);
            tokio::time::sleep(step).await;
            left -= step;
        }
    }

    /// Runs an operator's command and records it.
    async fn administrate(&self, line: &str, action: Action) -> anyhow::Result<CommandOutcome> {
        let began = self.recorder.now();
        let outcome = match self.cluster.admin(line).await {
            Ok(_) => CommandOutcome::Acknowledged,
            Err(error) => CommandOutcome::Unknown { error: format!("{error:#}") },
        };
        self.record_command(began, action, outcome.clone())?;
        Ok(outcome)
    }

    fn record_command(&self, began: u64, action: Action, outcome: CommandOutcome) -> anyhow::Result<()> {
        let ended = self.recorder.now();
        self.recorder.add(&Record::Command(Command { began, ended, action, outcome }))
    }

    /// Deletes every endpoint and waits until the last replica is gone.
    pub(super) async fn delete_endpoints(&self) -> anyhow::Result<()> {
        for (name, _) in ENDPOINTS {
            endpoints::delete(self, name).await?;
        }
        Ok(())
    }
}

/// The endpoints of the campaign: scripted replicas, and one with the real engine.
const ENDPOINTS: [(&str, &str); 3] =
    [("left", SCRIPTED_REPLICAS), ("right", SCRIPTED_REPLICAS), ("real", REAL_REPLICAS)];

async fn tenant(
    cluster: &Cluster,
    organization: &str,
    name: &str,
    limits: &str,
    of_key: &str,
) -> anyhow::Result<UsableKey> {
    let create = format!("workspaces create --organization {organization} --name {name} {limits}");
    let workspace = text(&cluster.admin(&create).await?["id"])?;
    let key = cluster.admin(&format!("keys create --workspace {workspace} --name {name} {of_key}")).await?;
    Ok(UsableKey { id: text(&key["id"])?, text: text(&key["key"])?, workspace })
}

fn text(value: &Value) -> anyhow::Result<String> {
    value.as_str().map(ToOwned::to_owned).with_context(|| format!("{value} is not text"))
}

/// Raises the cap of the capped workspace, a little each time.
async fn raise_cap(load: Arc<Load>) -> anyhow::Result<()> {
    let workspace = load.tenants.capped.workspace.clone();
    let mut cap = load.tenants.cap;
    loop {
        load.sleep(RAISE_EVERY).await;
        if load.is_stopped() {
            return Ok(());
        }
        cap += load.tenants.cap / 40;
        let action = Action::SetQuota { workspace: workspace.clone(), monthly_tokens: cap };
        load.administrate(&format!("workspaces set {workspace} --monthly-tokens {cap}"), action).await?;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
