//! What every call moves. Labels are looked up, never formatted, and nothing here takes a lock once a pair of
//! workspace and model has been seen.
//!
//! Pairs are counted apart up to a bound. Past it a call counts for the workspace `other`, under its own model where
//! that is one of the catalogue's, so that sums by model stay right.

use super::families;
use super::page::Page;
use super::pair::{OfModel, Pair};
use arc_swap::ArcSwap;
use dataplane::usage_tap::Record;
use domain::model_ref::endpoint_part;
use foldhash::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands for everything that is not counted apart.
pub(super) const OTHER: &str = "other";

/// The calls of this process.
pub(crate) struct Calls {
    cores: usize,
    max_pairs: usize,
    pairs: ArcSwap<Pairs>,
    models: ArcSwap<HashMap<Arc<str>, Arc<OfModel>>>,
    /// Held by whoever adds to one of the tables.
    growing: Mutex<()>,
}

#[derive(Clone, Default)]
struct Pairs {
    by_workspace: HashMap<Arc<str>, HashMap<Arc<str>, Arc<Pair>>>,
    /// Those that are counted apart.
    count: usize,
}

impl Pairs {
    fn get(&self, workspace: &str, model: &str) -> Option<&Arc<Pair>> {
        self.by_workspace.get(workspace)?.get(model)
    }
}

/// The calls as one core counts them.
#[derive(Clone)]
pub(crate) struct CoreCalls {
    calls: Arc<Calls>,
    core: usize,
}

impl CoreCalls {
    pub(crate) fn count(&self, record: &Record) {
        let workspace = record.caller.as_ref().map_or("", |caller| caller.workspace.as_str());
        let model = record.model.as_ref().map_or("", |route| route.model.id.as_str());
        match self.calls.pairs.load().get(workspace, model) {
            Some(pair) => pair.count(self.core, record),
            None => self.calls.meet(workspace, model).count(self.core, record),
        }
    }
}

impl Calls {
    /// For so many cores and pairs.
    pub(crate) fn new(cores: usize, max_pairs: usize) -> Self {
        let growing = Mutex::default();
        Self { cores, max_pairs, pairs: ArcSwap::default(), models: ArcSwap::default(), growing }
    }

    pub(crate) fn on_core(self: &Arc<Self>, core: usize) -> CoreCalls {
        CoreCalls { calls: Arc::clone(self), core }
    }

    /// The pair under which a call counts that was not seen before, or is one too many.
    fn meet(&self, workspace: &str, model: &str) -> Arc<Pair> {
        if let Some(pair) = self.instead_of(&self.pairs.load(), workspace, model) {
            return pair;
        }
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.pairs.load();
        let (workspace, model) =
            if known.count < self.max_pairs { (workspace, model) } else { instead(workspace, model) };
        if let Some(pair) = known.get(workspace, model) {
            return Arc::clone(pair);
        }
        let mut more = Pairs::clone(&known);
        let (workspace, model): (Arc<str>, Arc<str>) = (workspace.into(), model.into());
        let of_model = self.of_model(&model);
        let pair = Arc::new(Pair::new(self.cores, Arc::clone(&workspace), Arc::clone(&model), of_model));
        // What counts as other is bounded by the catalogue, and not counted against the bound.
        more.count += usize::from(&*workspace != OTHER);
        more.by_workspace.entry(workspace).or_default().insert(model, Arc::clone(&pair));
        self.pairs.store(Arc::new(more));
        pair
    }

    /// Where a call counts that is one too many, if such a one has been seen.
    fn instead_of(&self, known: &Pairs, workspace: &str, model: &str) -> Option<Arc<Pair>> {
        let (workspace, model) = instead(workspace, model);
        (known.count >= self.max_pairs).then(|| known.get(workspace, model).cloned()).flatten()
    }

    /// Called by whoever holds `growing`.
    fn of_model(&self, model: &Arc<str>) -> Arc<OfModel> {
        let known = self.models.load();
        if let Some(found) = known.get(model) {
            return Arc::clone(found);
        }
        let new = Arc::new(OfModel::new(self.cores));
        let mut more = HashMap::clone(&known);
        more.insert(Arc::clone(model), Arc::clone(&new));
        self.models.store(Arc::new(more));
        new
    }

    pub(super) fn write(&self, page: &mut Page) {
        let pairs = self.pairs.load();
        let mut all: Vec<&Arc<Pair>> = pairs.by_workspace.values().flat_map(HashMap::values).collect();
        all.sort_by(|one, other| (&one.workspace, &one.model).cmp(&(&other.workspace, &other.model)));
        let mut samples = page.family(&families::REQUESTS);
        all.iter().for_each(|pair| pair.write_outcomes(&mut samples));
        let mut samples = page.family(&families::TOKENS);
        all.iter().filter(|pair| !pair.model.is_empty()).for_each(|pair| pair.write_tokens(&mut samples));
        let models = self.models.load();
        let named = models.iter().filter(|(name, _)| !name.is_empty());
        let mut models: Vec<(&str, &OfModel)> = named.map(|(name, model)| (&**name, &**model)).collect();
        models.sort_by_key(|(name, _)| *name);
        OfModel::write_all(page, &models);
        page.whole(&families::LABEL_SETS, pairs.count as u64);
    }
}

/// Where a call counts when no further pair is counted apart.
fn instead<'a>(workspace: &'a str, model: &'a str) -> (&'a str, &'a str) {
    let is_dedicated = endpoint_part(model).is_some();
    (if workspace.is_empty() { workspace } else { OTHER }, if is_dedicated { OTHER } else { model })
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
