//! The engines that are probed, by what identifies each.

use domain::model::{Model, RerankApi, Serving, Upstream};
use domain::{ModelId, OrganizationId, engine_key};
use fleet::backend::{BackendId, Health};
use fleet::{Backend, Endpoints, Routes};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

/// An engine, or several that are alike: the replicas of a pool or of an endpoint, or one server under several models.
#[derive(Debug, Clone)]
pub(super) struct ProbedEngine {
    pub(super) model: ModelId,
    pub(super) context_length: u64,
    /// Its kind is known, or Forebay runs it: it is not a hosted service.
    pub(super) is_own: bool,
    /// The organization of an endpoint; `None` for serverless models.
    pub(super) organization: Option<OrganizationId>,
    pub(super) backends: Vec<Arc<Backend>>,
}

impl ProbedEngine {
    /// A replica that responds, preferably one that is not among those that were `seen`.
    pub(super) fn ready(&self, seen: &HashSet<BackendId>) -> Option<&Arc<Backend>> {
        let up = self.backends.iter().filter(|backend| backend.health() == Health::Up);
        up.min_by_key(|backend| (seen.contains(&backend.id), backend.in_flight()))
    }
}

/// Which engines are probed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Whether servers of an unknown kind are probed, too.
    pub(super) probes_unknown: bool,
    /// The id of this node.
    pub(super) node: &'a str,
}

/// All engines of models that may be probed, by their keys.
pub(super) fn all(routes: &Routes, endpoints: &Endpoints, scope: Scope<'_>) -> HashMap<String, ProbedEngine> {
    let mut engines: HashMap<String, ProbedEngine> = HashMap::new();
    let mut add = |(key, is_own): (String, bool), model: &Model, organization, backend: &Arc<Backend>| {
        if !model.probe.unwrap_or(is_own || scope.probes_unknown) {
            return;
        }
        let new = || ProbedEngine {
            model: model.id.clone(),
            context_length: model.context_length,
            is_own,
            organization,
            backends: Vec::new(),
        };
        engines.entry(key).or_insert_with(new).backends.push(Arc::clone(backend));
    };
    for route in routes.table().iter() {
        for backend in route.pool.replicas() {
            let key = match &route.model.serving {
                Serving::Upstreams(_) => (upstream_key(backend, scope.node), is_known_kind(&backend.upstream)),
                Serving::Engine(pool) => (engine_key::of_pool(&route.model.id, pool), true),
            };
            add(key, &route.model, None, backend);
        }
    }
    for endpoint in endpoints.all() {
        let view = endpoint.view();
        // The model of an endpoint has one flavor, its own.
        let Some(flavor) = view.route.model.flavors.first() else { continue };
        for backend in view.route.pool.replicas() {
            let key = (engine_key::of_endpoint(&endpoint.id, flavor), backend.upstream.engine.is_some());
            add(key, &view.route.model, Some(endpoint.organization.clone()), backend);
        }
    }
    engines
}

/// Such servers are run by those who call them. Others may be hosted services.
fn is_known_kind(upstream: &Upstream) -> bool {
    upstream.engine.is_some() || upstream.rerank_api == RerankApi::Tei
}

/// A loopback address means another server on each node.
fn upstream_key(backend: &Backend, node: &str) -> String {
    let key = engine_key::of_upstream(&backend.upstream);
    if is_loopback(&backend.address.host) { engine_key::at_node(&key, node) } else { key }
}

fn is_loopback(host: &str) -> bool {
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::{EngineKind, LimitName};

    fn backend(url: &str) -> Arc<Backend> {
        Arc::new(Backend::new("x", Upstream::plain(url, "m")).unwrap())
    }

    #[test]
    fn an_address_of_this_machine_is_another_engine_on_each_node() {
        for url in ["http://localhost:9001/v1", "http://127.0.0.2:9001/v1", "http://[::1]:9001/v1"] {
            assert_ne!(upstream_key(&backend(url), "node_a"), upstream_key(&backend(url), "node_b"), "{url}");
        }
        let shared = backend("http://10.0.0.5:9001/v1");
        assert_eq!(upstream_key(&shared, "node_a"), upstream_key(&shared, "node_b"));
    }

    #[test]
    fn a_server_of_a_known_kind_is_not_a_hosted_service() {
        let plain = || Upstream::plain("http://10.0.0.5/v1", "m");
        for (upstream, expected) in [
            (Upstream { engine: Some(EngineKind::Vllm), ..plain() }, true),
            (Upstream { rerank_api: RerankApi::Tei, ..plain() }, true),
            (Upstream { limit_name: LimitName::MaxCompletionTokens, ..plain() }, false),
            (plain(), false),
        ] {
            assert_eq!(is_known_kind(&upstream), expected, "{upstream:?}");
        }
    }

    #[test]
    fn a_replica_that_was_not_looked_at_is_probed_first() {
        let backends = [1, 2, 3].map(|port| backend(&format!("http://10.0.0.5:{port}/v1")));
        let engine = ProbedEngine {
            model: ModelId::parse("acme/x").unwrap(),
            context_length: 4_096,
            is_own: true,
            organization: None,
            backends: backends.to_vec(),
        };
        let ready = |seen: &[usize]| {
            let seen = seen.iter().map(|index| backends[*index].id).collect();
            engine.ready(&seen).map(|backend| backend.id)
        };
        assert_eq!(ready(&[]), None, "none is up");
        backends[0].set_health(Health::Up);
        backends[1].set_health(Health::Up);
        assert_eq!(ready(&[0]), Some(backends[1].id));
        assert_eq!(ready(&[0, 1]), Some(backends[0].id), "the third one is not up");
    }
}
