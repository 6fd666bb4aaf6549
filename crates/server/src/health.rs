//! Whether this node should get calls, and how each of its parts is.
//!
//! A part that is degraded is told and does not stop serving; only what makes every call fail, on this node and not on
//! others, takes it out. `docs/operations.md` explains each.

use crate::node::{Leads, NodeState};
use dataplane::admission::RedisLimits;
use domain::ModelId;
use domain::leadership::LEASE_MILLIS;
use domain::model::Serving;
use fleet::{Routes, Standing};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use store::Journal;

/// A node without the store serves keys that it knows for so long, and then none.
const KEYS_ARE_TRUSTED: Duration = dataplane::keys::TRUST;
const NO_LEADER_PATIENCE: Duration = Duration::from_millis(LEASE_MILLIS);

/// The parts in the order in which they are told.
pub(crate) const PARTS: [&str; 6] = ["store", "limits", "journal", "catalogue", "engines", "leader"];

/// What readiness is judged by.
pub(crate) struct Seen {
    pub draining: bool,
    pub store_away_for: Option<Duration>,
    /// How far this node's clock is ahead of the store's.
    pub clock_skew_millis: Option<i64>,
    pub limits_are_degraded: bool,
    pub journal: JournalSeen,
    /// Nodes that serve another catalogue.
    pub differing_nodes: Vec<String>,
    pub alive_nodes: u32,
    pub leads: Leads,
    /// Models of the catalogue that are not available, and how they are.
    pub ailing: Vec<(ModelId, Standing)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalSeen {
    pub waiting: u64,
    pub max: u64,
    pub has_room: bool,
}

impl Seen {
    /// A leader that does not reach the store does not act.
    pub(crate) fn leads(&self) -> bool {
        self.leads == Leads::ThisNode && self.store_away_for.is_none()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Ok,
    Degraded,
    Unavailable,
}

/// How a part is, and why it is not better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Part {
    status: Status,
    #[serde(skip_serializing_if = "str::is_empty")]
    why: String,
}

impl Part {
    const OK: Self = Self { status: Status::Ok, why: String::new() };

    fn degraded(why: impl Into<String>) -> Self {
        Self { status: Status::Degraded, why: why.into() }
    }

    fn unavailable(why: impl Into<String>) -> Self {
        Self { status: Status::Unavailable, why: why.into() }
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }
}

/// The parts of [`PARTS`].
#[derive(Debug, Serialize)]
struct Parts {
    store: Part,
    limits: Part,
    journal: Part,
    catalogue: Part,
    engines: Part,
    leader: Part,
}

/// The body of `/readyz`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    status: &'static str,
    node_id: String,
    store: &'static str,
    catalogue_hash: String,
    differing_nodes: Vec<String>,
    parts: Parts,
}

impl Report {
    /// Whether calls should be sent here.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.status, READY | DEGRADED)
    }

    /// Whether they should by the measure of somebody who wants this part to be well.
    pub(crate) fn is_well(&self, part: &str) -> bool {
        self.parts().any(|(name, found)| name == part && found.is_ok())
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = (&'static str, &Part)> {
        let Parts { store, limits, journal, catalogue, engines, leader } = &self.parts;
        PARTS.into_iter().zip([store, limits, journal, catalogue, engines, leader])
    }
}

const READY: &str = "ready";
const DEGRADED: &str = "degraded";
const NOT_READY: &str = "not_ready";
const DRAINING: &str = "draining";

/// Looks at the parts of this node.
pub(crate) struct Health {
    pub node: Arc<NodeState>,
    pub routes: Routes,
    pub journal: Journal,
    pub journal_max: u64,
    /// Where limits are shared.
    pub limits: Option<RedisLimits>,
}

impl Health {
    pub(crate) fn look(&self) -> (Seen, Report) {
        let seen = self.see();
        let parts = judge(&seen);
        let report = Report {
            status: status(&seen, &parts),
            node_id: self.node.id().to_owned(),
            store: if seen.store_away_for.is_some() { "unavailable" } else { "ok" },
            catalogue_hash: self.routes.table().catalogue_hash.to_string(),
            differing_nodes: seen.differing_nodes.clone(),
            parts,
        };
        (seen, report)
    }

    fn see(&self) -> Seen {
        let heard = self.node.heard();
        let (waiting, has_room) = (self.journal.waiting_bytes(), self.journal.has_room());
        let table = self.routes.table();
        let standings = table.iter().map(|route| (&route.model, route.pool.standing()));
        // A model may have flavors alone: nobody expects it to be served here.
        let served = standings.filter(|(model, _)| model.serving != Serving::Upstreams(Vec::new()));
        let ailing = served.filter(|(_, standing)| *standing != Standing::Available);
        Seen {
            draining: self.node.is_draining(),
            store_away_for: heard.store_away_since.map(|since| since.elapsed()),
            clock_skew_millis: heard.clock_skew_millis,
            limits_are_degraded: self.limits.as_ref().is_some_and(RedisLimits::is_degraded),
            journal: JournalSeen { waiting, max: self.journal_max, has_room },
            differing_nodes: heard.differing,
            alive_nodes: self.node.alive_count(),
            leads: heard.leads,
            ailing: ailing.map(|(model, standing)| (model.id.clone(), standing)).collect(),
        }
    }
}

fn judge(seen: &Seen) -> Parts {
    Parts {
        store: store(seen),
        limits: if seen.limits_are_degraded {
            Part::degraded("Redis does not answer: each node enforces its share of the limits by the minute")
        } else {
            Part::OK
        },
        journal: journal(&seen.journal),
        catalogue: if seen.differing_nodes.is_empty() {
            Part::OK
        } else {
            Part::degraded(format!("another catalogue is served by {}", seen.differing_nodes.join(", ")))
        },
        engines: engines(&seen.ailing),
        leader: leader(seen),
    }
}

fn status(seen: &Seen, parts: &Parts) -> &'static str {
    let Parts { store, limits, journal, catalogue, engines, leader } = parts;
    let worst = [store, limits, journal, catalogue, engines, leader].map(|part| part.status);
    match () {
        () if seen.draining => DRAINING,
        () if worst.contains(&Status::Unavailable) => NOT_READY,
        () if worst.contains(&Status::Degraded) => DEGRADED,
        () => READY,
    }
}

fn store(seen: &Seen) -> Part {
    let trusted = KEYS_ARE_TRUSTED.as_secs() / 60;
    match seen.store_away_for {
        None => Part::OK,
        Some(away) if away >= KEYS_ARE_TRUSTED => Part::unavailable(format!(
            "the store has been away for more than {trusted} minutes: no key is known any more"
        )),
        Some(away) => Part::degraded(format!(
            "the store has not answered for {} s: keys that are known are served for {trusted} minutes",
            away.as_secs()
        )),
    }
}

fn journal(seen: &JournalSeen) -> Part {
    let JournalSeen { waiting, max, has_room } = *seen;
    match has_room {
        false if waiting >= max => {
            Part::unavailable(format!("the journal is full: {waiting} of {max} bytes wait for the store"))
        }
        false => Part::unavailable("the disk of the journal takes nothing"),
        true if waiting > max / 2 => {
            Part::degraded(format!("{waiting} of {max} bytes wait for the store; at the bound calls are refused"))
        }
        true => Part::OK,
    }
}

fn engines(ailing: &[(ModelId, Standing)]) -> Part {
    let named = |wanted: Standing| {
        let ids = ailing.iter().filter(move |(_, standing)| *standing == wanted).map(|(id, _)| id.as_str());
        ids.collect::<Vec<_>>().join(", ")
    };
    let (none, some) = (named(Standing::Unavailable), named(Standing::Degraded));
    match (none.is_empty(), some.is_empty()) {
        (true, true) => Part::OK,
        (false, true) => Part::degraded(format!("no replica takes calls for {none}")),
        (true, false) => Part::degraded(format!("not every replica takes calls for {some}")),
        (false, false) => {
            Part::degraded(format!("no replica takes calls for {none}; not every replica takes calls for {some}"))
        }
    }
}

fn leader(seen: &Seen) -> Part {
    match seen.leads {
        _ if seen.store_away_for.is_some() => Part::degraded("who leads is not known while the store is away"),
        Leads::Nobody { since } if since.elapsed() >= NO_LEADER_PATIENCE => {
            Part::degraded("no node leads the control plane: dedicated endpoints stay as they are")
        }
        Leads::Nobody { .. } | Leads::ThisNode | Leads::AnotherNode => Part::OK,
    }
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
