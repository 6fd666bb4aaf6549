//! Numbers for Prometheus. Labels are bounded: models of the catalogue, statuses and codes, never keys.

use super::access_log::status_of;
use crate::node::NodeState;
use dataplane::admission::{Quota, RedisLimits};
use dataplane::usage_tap::{Outcome, Record};
use fleet::Routes;
use fleet::replica::Health;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};
use store::Journal;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ModelLabel(Option<domain::ModelId>);

impl EncodeLabelValue for ModelLabel {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        encoder.write_str(self.0.as_ref().map_or("", domain::ModelId::as_str))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    model: ModelLabel,
    status: u32,
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfModel {
    model: ModelLabel,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    model: ModelLabel,
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReplicaLabels {
    model: ModelLabel,
    replica: String,
}

type Durations = Family<OfModel, Histogram, fn() -> Histogram>;

/// The numbers of one model that every served call moves, found with one look-up.
struct Served {
    requests: Counter,
    prompt: Counter,
    completion: Counter,
    cached: Counter,
    duration: Histogram,
    first_byte: Histogram,
}

pub(crate) struct Metrics {
    registry: Registry,
    served: RwLock<HashMap<(&'static str, domain::ModelId), Arc<Served>>>,
    requests: Family<RequestLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    duration: Durations,
    first_byte: Durations,
    in_flight: Family<ReplicaLabels, Gauge>,
    healthy: Family<ReplicaLabels, Gauge>,
    differing_nodes: Gauge,
    journal_waiting: Gauge,
    journal_full: Gauge,
    rate_limit_degraded: Gauge,
    quota_overrun: Gauge,
    pub usage_set_aside: Counter,
    routes: Routes,
    node: Arc<NodeState>,
    admission: Watched,
}

/// Parts of the admission whose state is a number.
pub(crate) struct Watched {
    pub journal: Journal,
    pub quota: Quota,
    /// Where limits are shared.
    pub redis: Option<RedisLimits>,
}

impl Metrics {
    pub(crate) fn new(routes: Routes, node: Arc<NodeState>, admission: Watched) -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("forebay"),
            served: RwLock::default(),
            requests: Family::default(),
            tokens: Family::default(),
            duration: Family::new_with_constructor(durations),
            first_byte: Family::new_with_constructor(first_bytes),
            in_flight: Family::default(),
            healthy: Family::default(),
            differing_nodes: Gauge::default(),
            journal_waiting: Gauge::default(),
            journal_full: Gauge::default(),
            rate_limit_degraded: Gauge::default(),
            quota_overrun: Gauge::default(),
            usage_set_aside: Counter::default(),
            routes,
            node,
            admission,
        };
        let registry = &mut metrics.registry;
        registry.register("requests", "Requests by route, model, status and code", metrics.requests.clone());
        registry.register("tokens", "Tokens by model and kind", metrics.tokens.clone());
        registry.register("request_duration_seconds", "From request to end of answer", metrics.duration.clone());
        registry.register("time_to_first_byte_seconds", "From request to first byte", metrics.first_byte.clone());
        registry.register("replica_in_flight", "Calls under way at a replica", metrics.in_flight.clone());
        registry.register("replica_up", "Whether a replica takes calls", metrics.healthy.clone());
        registry.register(
            "catalogue_differing_nodes",
            "Nodes that serve another catalogue than this one",
            metrics.differing_nodes.clone(),
        );
        let waiting = metrics.journal_waiting.clone();
        registry.register("journal_waiting_bytes", "Usage events that are not in the store yet", waiting);
        let full = metrics.journal_full.clone();
        registry.register("journal_full", "1 while new calls are refused for want of room in the journal", full);
        let degraded = metrics.rate_limit_degraded.clone();
        registry.register("rate_limit_degraded", "1 while each node enforces its share of the limits", degraded);
        let overrun = metrics.quota_overrun.clone();
        registry.register("quota_overrun_tokens", "Tokens that engines reported beyond the bound of a call", overrun);
        let aside = metrics.usage_set_aside.clone();
        registry.register("usage_events_set_aside", "Usage events that the store refused", aside);
        metrics
    }

    pub(crate) fn count(&self, record: &Record) {
        let reached = record.model.as_ref().filter(|_| record.replica.is_some());
        let served = reached.map(|route| self.served(record.route, &route.model.id));
        match &served {
            Some(served) if record.outcome == Outcome::Served => {
                served.requests.inc();
            }
            _ => {
                let (status, code) = status_of(record.outcome);
                let model = ModelLabel(record.model.as_ref().map(|route| route.model.id.clone()));
                let labels = RequestLabels { route: record.route, model, status: u32::from(status), code };
                self.requests.get_or_create(&labels).inc();
            }
        }
        if let Some(served) = served {
            served.prompt.inc_by(record.tokens.prompt);
            served.completion.inc_by(record.tokens.completion);
            served.cached.inc_by(record.tokens.cached);
            served.duration.observe(record.duration.as_secs_f64());
            if let Some(first_byte) = record.first_byte {
                served.first_byte.observe(first_byte.as_secs_f64());
            }
        }
    }

    fn served(&self, route: &'static str, model: &domain::ModelId) -> Arc<Served> {
        let known = self.served.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(served) = known.get(&(route, model.clone())) {
            return Arc::clone(served);
        }
        drop(known);
        let label = || ModelLabel(Some(model.clone()));
        let tokens = |kind| self.tokens.get_or_create_owned(&TokenLabels { model: label(), kind });
        let of_model = OfModel { model: label() };
        let served = Arc::new(Served {
            requests: self.requests.get_or_create_owned(&RequestLabels {
                route,
                model: label(),
                status: 200,
                code: "",
            }),
            prompt: tokens("prompt"),
            completion: tokens("completion"),
            cached: tokens("cached"),
            duration: self.duration.get_or_create_owned(&of_model),
            first_byte: self.first_byte.get_or_create_owned(&of_model),
        });
        let mut known = self.served.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry((route, model.clone())).or_insert(served))
    }

    /// All numbers as text. What can be read off is read now.
    pub(crate) fn encode(&self) -> String {
        self.in_flight.clear();
        self.healthy.clear();
        for (model, replica) in self.routes.table().replicas() {
            let labels = ReplicaLabels { model: ModelLabel(Some(model.clone())), replica: replica.name.to_string() };
            self.in_flight.get_or_create(&labels).set(i64::from(replica.in_flight()));
            self.healthy.get_or_create(&labels).set(i64::from(replica.health() != Health::Down));
        }
        self.differing_nodes.set(i64::try_from(self.node.differing_nodes()).unwrap_or(i64::MAX));
        let Watched { journal, quota, redis } = &self.admission;
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.journal_waiting.set(number(journal.waiting_bytes()));
        self.journal_full.set(i64::from(!journal.has_room()));
        self.rate_limit_degraded.set(i64::from(redis.as_ref().is_some_and(RedisLimits::is_degraded)));
        self.quota_overrun.set(number(quota.overrun_tokens()));
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            text.push_str("# the metrics could not be written\n");
        }
        text
    }
}

fn durations() -> Histogram {
    Histogram::new((0..14).map(|power| 0.01 * f64::from(1 << power)))
}

fn first_bytes() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0])
}
