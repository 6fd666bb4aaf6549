//! Numbers for Prometheus. Labels are bounded: models of the catalogue, statuses and codes, never keys.

use super::access_log::status_of;
use crate::node::NodeState;
use dataplane::usage_tap::Record;
use fleet::Routes;
use fleet::replica::Health;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt::Write as _;
use std::sync::Arc;

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

pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    duration: Durations,
    first_byte: Durations,
    in_flight: Family<ReplicaLabels, Gauge>,
    healthy: Family<ReplicaLabels, Gauge>,
    differing_nodes: Gauge,
    pub usage_waiting: Gauge,
    pub usage_lost: Counter,
    routes: Routes,
    node: Arc<NodeState>,
}

impl Metrics {
    pub(crate) fn new(routes: Routes, node: Arc<NodeState>) -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("forebay"),
            requests: Family::default(),
            tokens: Family::default(),
            duration: Family::new_with_constructor(durations),
            first_byte: Family::new_with_constructor(first_bytes),
            in_flight: Family::default(),
            healthy: Family::default(),
            differing_nodes: Gauge::default(),
            usage_waiting: Gauge::default(),
            usage_lost: Counter::default(),
            routes,
            node,
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
        registry.register("usage_events_waiting", "Usage events not in the store yet", metrics.usage_waiting.clone());
        registry.register("usage_events_lost", "Usage events that found no room", metrics.usage_lost.clone());
        metrics
    }

    pub(crate) fn count(&self, record: &Record) {
        let (status, code) = status_of(record.outcome);
        let model = ModelLabel(record.model.as_ref().map(|route| route.model.id.clone()));
        let labels = RequestLabels { route: record.route, model: model.clone(), status: u32::from(status), code };
        self.requests.get_or_create(&labels).inc();
        if record.replica.is_none() {
            return;
        }
        for (kind, count) in [
            ("prompt", record.tokens.prompt),
            ("completion", record.tokens.completion),
            ("cached", record.tokens.cached),
        ] {
            if count > 0 {
                self.tokens.get_or_create(&TokenLabels { model: model.clone(), kind }).inc_by(count);
            }
        }
        let of_model = OfModel { model };
        self.duration.get_or_create(&of_model).observe(record.duration.as_secs_f64());
        if let Some(first_byte) = record.first_byte {
            self.first_byte.get_or_create(&of_model).observe(first_byte.as_secs_f64());
        }
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
