//! The route table: the pool of each model.
//!
//! Every call reads it. It is rebuilt when the catalogue or the set of ready engines changes. Backends that stay keep
//! their health and their calls in flight.

use crate::backend::{Backend, BackendId};
use crate::pool::Pool;
use arc_swap::ArcSwap;
use domain::alias::{Alias, AliasName, AliasTable};
use domain::model::{Model, Serving, Upstream};
use domain::{Catalogue, ModelId};
use outbound::AddressError;
use parking_lot::Mutex;
use std::collections::HashSet;
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
    by_id: foldhash::HashMap<Box<str>, Arc<Route>>,
    aliases: AliasTable<Arc<Route>>,
    pub catalogue_hash: Box<str>,
}

impl Table {
    pub fn get(&self, model: &str) -> Option<&Arc<Route>> {
        self.by_id.get(model)
    }

    /// The model of an alias of the catalogue.
    pub fn get_alias(&self, name: &str) -> Option<&Arc<Route>> {
        self.aliases.get(name)
    }

    /// Aliases in the order of the catalogue.
    pub fn aliases(&self) -> impl Iterator<Item = (&AliasName, &Arc<Route>)> {
        self.aliases.iter()
    }

    /// Routes in the order of the catalogue.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Route>> {
        self.routes.iter()
    }

    pub fn replicas(&self) -> impl Iterator<Item = (&ModelId, &Arc<Backend>)> {
        self.routes.iter().flat_map(|route| route.pool.replicas().iter().map(|replica| (&route.model.id, replica)))
    }
}

/// Sources of the table.
#[derive(Debug, Default)]
struct Sources {
    catalogue: Catalogue,
    /// Ready engines of pools that the gateway runs itself.
    engines: Vec<(ModelId, Arc<Backend>)>,
}

#[derive(Debug, Clone, Default)]
pub struct Routes {
    table: Arc<ArcSwap<Table>>,
    sources: Arc<Mutex<Sources>>,
}

impl Routes {
    pub fn table(&self) -> arc_swap::Guard<Arc<Table>> {
        self.table.load()
    }

    /// Serves the models of `catalogue` from now on. Calls in flight are not affected.
    pub fn apply(&self, catalogue: &Catalogue) -> Result<(), AddressError> {
        let mut sources = self.sources.lock();
        let changed = Sources { catalogue: catalogue.clone(), engines: sources.engines.clone() };
        self.publish(self.build(&changed)?);
        *sources = changed;
        Ok(())
    }

    /// The current catalogue.
    pub fn catalogue(&self) -> Catalogue {
        self.sources.lock().catalogue.clone()
    }

    /// Adds a ready engine for `model`.
    pub fn join(&self, model: ModelId, engine: Arc<Backend>) {
        self.change_engines(|engines| engines.push((model, engine)));
    }

    /// Removes an engine.
    pub fn leave(&self, id: BackendId) {
        self.change_engines(|engines| engines.retain(|(_, engine)| engine.id != id));
    }

    fn change_engines(&self, change: impl FnOnce(&mut Vec<(ModelId, Arc<Backend>)>)) {
        let mut sources = self.sources.lock();
        change(&mut sources.engines);
        match self.build(&sources) {
            Ok(table) => self.publish(table),
            Err(error) => tracing::error!(%error, "the route table was not updated"),
        }
    }

    /// Replaces the table. Calls that wait may find room at new replicas.
    fn publish(&self, table: Table) {
        let table = Arc::new(table);
        self.table.store(Arc::clone(&table));
        table.iter().for_each(|route| route.pool.queue().wake());
    }

    fn build(&self, sources: &Sources) -> Result<Table, AddressError> {
        let before = self.table.load();
        let routes: Vec<Arc<Route>> = sources
            .catalogue
            .iter()
            .map(|model| {
                let before = before.get(model.id.as_str()).map(|route| &route.pool);
                let replicas = match &model.serving {
                    Serving::Upstreams(upstreams) => {
                        upstream_replicas(model, upstreams, before.map_or(&[][..], Pool::replicas))?
                    }
                    Serving::Engine(_) => {
                        let engines = sources.engines.iter().filter(|(id, _)| *id == model.id);
                        engines.map(|(_, engine)| Arc::clone(engine)).collect()
                    }
                };
                let pool = Pool::replacing(before, replicas).sharing(model.batch_share);
                Ok(Arc::new(Route { model: Arc::clone(model), pool }))
            })
            .collect::<Result<_, AddressError>>()?;
        let by_id: foldhash::HashMap<Box<str>, Arc<Route>> =
            routes.iter().map(|route| (route.model.id.as_str().into(), Arc::clone(route))).collect();
        let target = |alias: &Alias| Some((alias.name.clone(), Arc::clone(by_id.get(alias.model.as_str())?)));
        let aliases = sources.catalogue.aliases().iter().filter_map(target).collect();
        Ok(Table { routes, by_id, aliases, catalogue_hash: sources.catalogue.hash.clone() })
    }
}

/// The replicas of a pool. Known backends are kept; new ones get the lowest free numbers as names.
fn upstream_replicas(
    model: &Model,
    upstreams: &[Upstream],
    known: &[Arc<Backend>],
) -> Result<Vec<Arc<Backend>>, AddressError> {
    let mut known: Vec<&Arc<Backend>> = known.iter().collect();
    let mut kept: Vec<Option<Arc<Backend>>> = Vec::with_capacity(upstreams.len());
    for upstream in upstreams {
        let index = known.iter().position(|backend| backend.upstream == *upstream);
        kept.push(index.map(|index| Arc::clone(known.remove(index))));
    }
    let taken: HashSet<Arc<str>> = kept.iter().flatten().map(|backend| Arc::clone(&backend.name)).collect();
    let mut free = (1..).map(|number| format!("{}#{number}", model.id)).filter(|name| !taken.contains(name.as_str()));
    let backends = kept.into_iter().zip(upstreams).map(|(kept, upstream)| match kept {
        Some(backend) => Ok(backend),
        None => {
            let name = free.next().expect("there is always another number");
            Backend::new(&name, upstream.clone()).map(Arc::new)
        }
    });
    backends.collect()
}
