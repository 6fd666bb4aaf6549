//! The route table: which pool serves which model.
//!
//! Every call reads it, a reload replaces it. Replicas that stay keep their health and their calls in flight.

use crate::pool::Pool;
use crate::replica::{BadAddress, Replica};
use arc_swap::ArcSwap;
use domain::model::{Model, Serving};
use domain::{Catalogue, ModelId};
use std::collections::HashMap;
use std::sync::Arc;

/// A model and the pool that serves it.
#[derive(Debug)]
pub struct Route {
    pub model: Arc<Model>,
    pub pool: Pool,
}

#[derive(Debug, Default)]
pub struct Table {
    routes: Vec<Arc<Route>>,
    by_id: HashMap<Box<str>, Arc<Route>>,
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

    pub fn replicas(&self) -> impl Iterator<Item = (&ModelId, &Arc<Replica>)> {
        self.routes.iter().flat_map(|route| route.pool.replicas().iter().map(|replica| (&route.model.id, replica)))
    }
}

#[derive(Debug, Clone, Default)]
pub struct Routes {
    table: Arc<ArcSwap<Table>>,
}

impl Routes {
    pub fn table(&self) -> arc_swap::Guard<Arc<Table>> {
        self.table.load()
    }

    /// Serves the models of `catalogue` from now on. Calls under way end where they began.
    pub fn apply(&self, catalogue: &Catalogue) -> Result<(), BadAddress> {
        let before = self.table.load_full();
        let routes: Vec<Arc<Route>> = catalogue
            .iter()
            .map(|model| {
                let known = before.get(model.id.as_str()).map_or(&[][..], |route| route.pool.replicas());
                Ok(Arc::new(Route { model: Arc::clone(model), pool: pool_of(model, known)? }))
            })
            .collect::<Result<_, BadAddress>>()?;
        let by_id = routes.iter().map(|route| (route.model.id.as_str().into(), Arc::clone(route))).collect();
        self.table.store(Arc::new(Table { routes, by_id, catalogue_hash: catalogue.hash.clone() }));
        Ok(())
    }
}

fn pool_of(model: &Model, known: &[Arc<Replica>]) -> Result<Pool, BadAddress> {
    let upstreams = match &model.serving {
        Serving::Upstreams(upstreams) => &upstreams[..],
        // Replicas of a pool that we run ourselves join the table when they are ready.
        Serving::Engine(_) => &[],
    };
    let replicas = upstreams
        .iter()
        .enumerate()
        .map(|(index, upstream)| match known.iter().find(|replica| replica.upstream == *upstream) {
            Some(replica) => Ok(Arc::clone(replica)),
            None => Replica::new(&format!("{}#{}", model.id, index + 1), upstream.clone()).map(Arc::new),
        })
        .collect::<Result<_, _>>()?;
    Ok(Pool::new(replicas))
}
