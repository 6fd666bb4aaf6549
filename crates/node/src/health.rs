//! Readiness: whether this node should receive calls, and the health of each of its parts.
//!
//! A degraded part is reported but keeps serving. The node becomes not ready only if every call would fail here while
//! other nodes could serve it. `docs/operations.md` explains each part.

use crate::state::{Leader, NodeState};
use dataplane::admission::RedisLimits;
use domain::ModelId;
use domain::leadership::TERM;
use domain::model::Serving;
use fleet::{Availability, Routes};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use store::Journal;
use store::journal::FillLevel;

/// Without the store, a node serves the keys it knows for this long.
const KEYS_ARE_TRUSTED: Duration = dataplane::keys::STALE_KEY_TTL;
const NO_LEADER_GRACE: Duration = TERM;

/// The parts in the order in which they are reported.
pub const PARTS: [&str; 6] = ["store", "limits", "journal", "catalogue", "engines", "leader"];

/// The observed state that readiness is computed from.
pub struct Observation {
    pub draining: bool,
    /// `None` if the store is reachable.
    pub store_away_for: Option<Duration>,
    /// How far this node's clock is ahead of the store's.
    pub clock_skew_millis: Option<i64>,
    pub limits_are_degraded: bool,
    pub journal: JournalObservation,
    /// Nodes that serve another catalogue.
    pub differing_nodes: Vec<String>,
    pub alive_nodes: u32,
    pub leader: Leader,
    /// Models of the catalogue that are not fully available.
    pub ailing: Vec<(ModelId, Availability)>,
}

#[derive(Debug, Clone, Copy)]
pub struct JournalObservation {
    pub level: FillLevel,
    pub max: u64,
    pub has_room: bool,
}

impl Observation {
    /// Whether this node leads and can act: a leader without the store cannot.
    pub fn leads(&self) -> bool {
        self.leader == Leader::This && self.store_away_for.is_none()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    Degraded,
    Unavailable,
}

/// The status of a part, and the reason if it is not `ok`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
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

    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }

    /// As in `/readyz`.
    pub fn status(&self) -> &'static str {
        match self.status {
            Status::Ok => "ok",
            Status::Degraded => "degraded",
            Status::Unavailable => "unavailable",
        }
    }

    /// Empty if the part is ok.
    pub fn why(&self) -> &str {
        &self.why
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
pub struct Report {
    status: &'static str,
    node_id: String,
    store: &'static str,
    catalogue_hash: String,
    differing_nodes: Vec<String>,
    parts: Parts,
}

impl Report {
    /// The report of a node that has not reached the store since its start.
    pub fn waiting_for_store(node_id: &str, catalogue_hash: &str) -> Self {
        let why = "the store has not responded since this node started: no key is known";
        Self {
            status: NOT_READY,
            node_id: node_id.to_owned(),
            store: "unavailable",
            catalogue_hash: catalogue_hash.to_owned(),
            differing_nodes: Vec::new(),
            parts: Parts {
                store: Part::unavailable(why),
                limits: Part::OK,
                journal: Part::OK,
                catalogue: Part::OK,
                engines: Part::degraded("engines start when the store responds"),
                leader: Part::degraded(UNKNOWN_LEADER),
            },
        }
    }

    /// `ready`, `degraded`, `not_ready` or `draining`.
    pub fn status(&self) -> &'static str {
        self.status
    }

    /// Whether calls should be sent here.
    pub fn is_ready(&self) -> bool {
        matches!(self.status, READY | DEGRADED)
    }

    /// Whether this part is `ok`, for probes that ask for it by name.
    pub fn is_part_ok(&self, part: &str) -> bool {
        self.parts().any(|(name, found)| name == part && found.is_ok())
    }

    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &Part)> {
        let Parts { store, limits, journal, catalogue, engines, leader } = &self.parts;
        PARTS.into_iter().zip([store, limits, journal, catalogue, engines, leader])
    }
}

const READY: &str = "ready";
const DEGRADED: &str = "degraded";
const NOT_READY: &str = "not_ready";
const DRAINING: &str = "draining";
const UNKNOWN_LEADER: &str = "the leader is unknown while the store is unreachable";

/// Observes the parts of this node.
pub struct Health {
    pub node: Arc<NodeState>,
    pub routes: Routes,
    pub journal: Journal,
    pub journal_max: u64,
    /// `None` if limits are not shared.
    pub limits: Option<RedisLimits>,
}

impl Health {
    pub fn check(&self) -> (Observation, Report) {
        let seen = self.observe();
        let parts = assess(&seen);
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

    fn observe(&self) -> Observation {
        let cluster = self.node.cluster();
        let (level, has_room) = (self.journal.fill_level(), self.journal.has_room());
        let table = self.routes.table();
        let availabilities = table.iter().map(|route| (&route.model, route.pool.availability()));
        // A model with flavors only is not served as a serverless one.
        let served = availabilities.filter(|(model, _)| model.serving != Serving::Upstreams(Vec::new()));
        let ailing = served.filter(|(_, availability)| *availability != Availability::Available);
        Observation {
            draining: self.node.is_draining(),
            store_away_for: cluster.store_away_since.map(|since| since.elapsed()),
            clock_skew_millis: cluster.clock_skew_millis,
            limits_are_degraded: self.limits.as_ref().is_some_and(RedisLimits::is_degraded),
            journal: JournalObservation { level, max: self.journal_max, has_room },
            differing_nodes: cluster.differing,
            alive_nodes: self.node.alive_count(),
            leader: cluster.leader,
            ailing: ailing.map(|(model, availability)| (model.id.clone(), availability)).collect(),
        }
    }
}

fn assess(seen: &Observation) -> Parts {
    Parts {
        store: store(seen),
        limits: if seen.limits_are_degraded {
            Part::degraded("Redis does not respond: each node enforces its share of the per-minute limits")
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

fn status(seen: &Observation, parts: &Parts) -> &'static str {
    let Parts { store, limits, journal, catalogue, engines, leader } = parts;
    let worst = [store, limits, journal, catalogue, engines, leader].map(|part| part.status);
    match () {
        () if seen.draining => DRAINING,
        () if worst.contains(&Status::Unavailable) => NOT_READY,
        () if worst.contains(&Status::Degraded) => DEGRADED,
        () => READY,
    }
}

fn store(seen: &Observation) -> Part {
    let trusted = KEYS_ARE_TRUSTED.as_secs() / 60;
    match seen.store_away_for {
        None => Part::OK,
        Some(away) if away >= KEYS_ARE_TRUSTED => Part::unavailable(format!(
            "the store has been unreachable for more than {trusted} minutes: known keys are no longer accepted"
        )),
        Some(away) => Part::degraded(format!(
            "the store has not responded for {} s: known keys are accepted for {trusted} minutes",
            away.as_secs()
        )),
    }
}

fn journal(seen: &JournalObservation) -> Part {
    let JournalObservation { level: FillLevel { waiting, .. }, max, has_room } = *seen;
    match has_room {
        false if waiting >= max => {
            Part::unavailable(format!("the journal is full: {waiting} of {max} bytes wait for the store"))
        }
        false => Part::unavailable("the journal cannot be written to its disk"),
        true if waiting > max / 2 => {
            Part::degraded(format!("{waiting} of {max} bytes wait for the store; when full, calls are rejected"))
        }
        true => Part::OK,
    }
}

fn engines(ailing: &[(ModelId, Availability)]) -> Part {
    let named = |asked: Availability| {
        let ids = ailing.iter().filter(move |(_, availability)| *availability == asked).map(|(id, _)| id.as_str());
        ids.collect::<Vec<_>>().join(", ")
    };
    let (none, some) = (named(Availability::Unavailable), named(Availability::Degraded));
    match (none.is_empty(), some.is_empty()) {
        (true, true) => Part::OK,
        (false, true) => Part::degraded(format!("no replica accepts calls for {none}")),
        (true, false) => Part::degraded(format!("some replicas do not accept calls for {some}")),
        (false, false) => {
            Part::degraded(format!("no replica accepts calls for {none}; some replicas do not accept calls for {some}"))
        }
    }
}

fn leader(seen: &Observation) -> Part {
    match seen.leader {
        _ if seen.store_away_for.is_some() => Part::degraded(UNKNOWN_LEADER),
        Leader::Vacant { since } if since.elapsed() >= NO_LEADER_GRACE => {
            Part::degraded("no node leads the control plane: dedicated endpoints are not managed")
        }
        Leader::Vacant { .. } | Leader::This | Leader::Other => Part::OK,
    }
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
