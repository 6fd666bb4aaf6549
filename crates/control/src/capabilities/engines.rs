//! The engines that are asked, and what identifies each.

use domain::model::{EnginePool, Model, Serving};
use domain::{ModelId, OrganizationId, SecretHash};
use fleet::backend::Health;
use fleet::{Backend, Endpoints, Routes};
use std::collections::HashMap;
use std::sync::Arc;

/// An engine, or several that are alike: the replicas of a pool or of an endpoint, or one server under several models.
#[derive(Debug, Clone)]
pub(super) struct AskedEngine {
    pub(super) model: ModelId,
    pub(super) context_length: u64,
    /// Its kind is known, or Forebay runs it: it is not a hosted service.
    pub(super) is_own: bool,
    /// The organization of an endpoint; `None` for serverless models.
    pub(super) organization: Option<OrganizationId>,
    pub(super) backends: Vec<Arc<Backend>>,
}

impl AskedEngine {
    /// A replica that responds.
    pub(super) fn ready(&self) -> Option<&Arc<Backend>> {
        let up = self.backends.iter().filter(|backend| backend.health() == Health::Up);
        up.min_by_key(|backend| backend.in_flight())
    }
}

/// All engines of models that may be asked, by what identifies them on every node.
pub(super) fn all(routes: &Routes, endpoints: &Endpoints, asks_unknown: bool) -> HashMap<String, AskedEngine> {
    let mut engines: HashMap<String, AskedEngine> = HashMap::new();
    let mut add = |(key, is_own): (String, bool), model: &Model, organization, backend: &Arc<Backend>| {
        if !model.probe.unwrap_or(is_own || asks_unknown) {
            return;
        }
        let new = || AskedEngine {
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
                Serving::Upstreams(_) => (upstream_key(backend), backend.upstream.engine.is_some()),
                Serving::Engine(pool) => (pool_key(&route.model.id, pool), true),
            };
            add(key, &route.model, None, backend);
        }
    }
    for endpoint in endpoints.all() {
        let view = endpoint.view();
        for backend in view.route.pool.replicas() {
            let key = (format!("endpoint {}", endpoint.id), backend.upstream.engine.is_some());
            add(key, &view.route.model, Some(endpoint.organization.clone()), backend);
        }
    }
    engines
}

fn upstream_key(backend: &Backend) -> String {
    format!("upstream {}", digest(&format!("{} {}", backend.upstream.url, backend.upstream.model)))
}

/// A pool with other weights or options has other engines.
fn pool_key(model: &ModelId, pool: &EnginePool) -> String {
    format!("pool {}", digest(&format!("{model} {pool:?}")))
}

fn digest(text: &str) -> String {
    SecretHash::of(text).to_hex()
}
