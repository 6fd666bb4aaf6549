//! The route table: which pool serves which model.
//!
//! Every call reads it. It is made anew from the catalogue, and from the engines that have joined, whenever either
//! changes. Replicas that stay keep their health and their calls in flight.

use crate::backend::{AddressError, Backend, BackendId};
use crate::pool::Pool;
use arc_swap::ArcSwap;
use domain::model::{Model, Serving, Upstream};
use domain::{Catalogue, ModelId};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A model and the pool that serves it.
#[derive(Debug)]
pub struct Route {
    pub model: Arc<Model>,
    pub pool: Pool,
}

#[derive(Debug, Default)]
pub struct Table {
    routes: Vec<Arc<Route>>,
    by_id: foldhash::HashMap<Box<str>, Arc<Route>>,
    pub catalogue_hash: Box<str>,
}

impl Table {
    pub fn get(&self, model: &str) -> Option<&Arc<Route>> {
        self.by_id.get(model)
    }

    /// In the order of the catalogue.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Route>> {
        self.routes.iter()
    }

    pub fn replicas(&self) -> impl Iterator<Item = (&ModelId, &Arc<Backend>)> {
        self.routes.iter().flat_map(|route| route.pool.replicas().iter().map(|replica| (&route.model.id, replica)))
    }
}

/// What the table is made of.
#[derive(Debug, Default)]
struct Parts {
    catalogue: Catalogue,
    /// Engines of our own that are ready.
    engines: Vec<(ModelId, Arc<Backend>)>,
}

#[derive(Debug, Clone, Default)]
pub struct Routes {
    table: Arc<ArcSwap<Table>>,
    parts: Arc<Mutex<Parts>>,
}

impl Routes {
    pub fn table(&self) -> arc_swap::Guard<Arc<Table>> {
        self.table.load()
    }

    /// Serves the models of `catalogue` from now on. Calls under way end where they began.
    pub fn apply(&self, catalogue: &Catalogue) -> Result<(), AddressError> {
        let mut parts = self.parts();
        let changed = Parts { catalogue: catalogue.clone(), engines: parts.engines.clone() };
        self.table.store(Arc::new(self.build(&changed)?));
        *parts = changed;
        Ok(())
    }

    /// The catalogue as it is now.
    pub fn catalogue(&self) -> Catalogue {
        self.parts().catalogue.clone()
    }

    /// An engine of ours is ready to serve `model`.
    pub fn join(&self, model: ModelId, replica: Arc<Backend>) {
        self.change_engines(|engines| engines.push((model, replica)));
    }

    /// It is not any more.
    pub fn leave(&self, id: BackendId) {
        self.change_engines(|engines| engines.retain(|(_, replica)| replica.id != id));
    }

    fn change_engines(&self, change: impl FnOnce(&mut Vec<(ModelId, Arc<Backend>)>)) {
        let mut parts = self.parts();
        change(&mut parts.engines);
        match self.build(&parts) {
            Ok(table) => self.table.store(Arc::new(table)),
            Err(error) => tracing::error!(%error, "the route table stays as it is"),
        }
    }

    fn build(&self, parts: &Parts) -> Result<Table, AddressError> {
        let before = self.table.load();
        let routes: Vec<Arc<Route>> = parts
            .catalogue
            .iter()
            .map(|model| {
                let pool = match &model.serving {
                    Serving::Upstreams(upstreams) => {
                        let known = before.get(model.id.as_str()).map_or(&[][..], |route| route.pool.replicas());
                        upstream_pool(model, upstreams, known)?
                    }
                    Serving::Engine(_) => {
                        let own = parts.engines.iter().filter(|(id, _)| *id == model.id);
                        Pool::new(own.map(|(_, replica)| Arc::clone(replica)).collect())
                    }
                };
                Ok(Arc::new(Route { model: Arc::clone(model), pool }))
            })
            .collect::<Result<_, AddressError>>()?;
        let by_id = routes.iter().map(|route| (route.model.id.as_str().into(), Arc::clone(route))).collect();
        Ok(Table { routes, by_id, catalogue_hash: parts.catalogue.hash.clone() })
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Known replicas stay; new ones get a number that no other has.
fn upstream_pool(model: &Model, upstreams: &[Upstream], known: &[Arc<Backend>]) -> Result<Pool, AddressError> {
    let mut known: Vec<&Arc<Backend>> = known.iter().collect();
    let mut kept: Vec<Option<Arc<Backend>>> = Vec::with_capacity(upstreams.len());
    for upstream in upstreams {
        let place = known.iter().position(|replica| replica.upstream == *upstream);
        kept.push(place.map(|place| Arc::clone(known.remove(place))));
    }
    let taken: HashSet<Arc<str>> = kept.iter().flatten().map(|replica| Arc::clone(&replica.name)).collect();
    let mut free = (1..).map(|number| format!("{}#{number}", model.id)).filter(|name| !taken.contains(name.as_str()));
    let replicas = kept.into_iter().zip(upstreams).map(|(kept, upstream)| match kept {
        Some(replica) => Ok(replica),
        None => {
            let name = free.next().expect("there is always another number");
            Backend::new(&name, upstream.clone()).map(Arc::new)
        }
    });
    Ok(Pool::new(replicas.collect::<Result<_, _>>()?))
}
