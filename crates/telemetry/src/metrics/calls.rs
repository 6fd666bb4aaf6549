//! Counters per call. Labels are looked up, never formatted, and no lock is taken once a pair of workspace and model is
//! known.
//!
//! Pairs are counted separately up to a bound. Beyond it, a call counts for the workspace `other`, still under its own
//! model if that is in the catalogue, so that sums per model stay correct.

use super::families;
use super::page::Page;
use super::pair::{ModelTimings, Pair};
use arc_swap::ArcSwap;
use dataplane::record::CallRecord;
use domain::model_ref::endpoint_part;
use foldhash::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;

/// The label of everything that is not counted separately.
pub const OTHER: &str = "other";

/// The calls of this process.
pub struct Calls {
    cores: usize,
    max_pairs: usize,
    pairs: ArcSwap<Pairs>,
    models: ArcSwap<HashMap<Arc<str>, Arc<ModelTimings>>>,
    /// Locked while one of the tables is extended.
    growing: Mutex<()>,
}

#[derive(Clone, Default)]
struct Pairs {
    by_workspace: HashMap<Arc<str>, HashMap<Arc<str>, Arc<Pair>>>,
    /// The number of pairs that are counted separately.
    count: usize,
}

impl Pairs {
    fn get(&self, workspace: &str, model: &str) -> Option<&Arc<Pair>> {
        self.by_workspace.get(workspace)?.get(model)
    }
}

/// The counters of one core.
#[derive(Clone)]
pub struct CoreCalls {
    calls: Arc<Calls>,
    core: usize,
}

impl CoreCalls {
    pub fn count(&self, record: &CallRecord) {
        let workspace = record.caller.as_ref().map_or("", |caller| caller.workspace.as_str());
        let model = record.model.as_ref().map_or("", |route| route.model.id.as_str());
        match self.calls.pairs.load().get(workspace, model) {
            Some(pair) => pair.count(self.core, record),
            None => self.calls.add(workspace, model).count(self.core, record),
        }
    }
}

impl Calls {
    pub fn new(cores: usize, max_pairs: usize) -> Self {
        let growing = Mutex::default();
        Self { cores, max_pairs, pairs: ArcSwap::default(), models: ArcSwap::default(), growing }
    }

    pub fn on_core(self: &Arc<Self>, core: usize) -> CoreCalls {
        CoreCalls { calls: Arc::clone(self), core }
    }

    /// The pair of a call whose labels are not known yet: a new one, or the overflow pair beyond the bound.
    fn add(&self, workspace: &str, model: &str) -> Arc<Pair> {
        if let Some(pair) = self.overflow_pair(&self.pairs.load(), workspace, model) {
            return pair;
        }
        let _growing = self.growing.lock();
        let known = self.pairs.load();
        let (workspace, model) =
            if known.count < self.max_pairs { (workspace, model) } else { overflow_labels(workspace, model) };
        if let Some(pair) = known.get(workspace, model) {
            return Arc::clone(pair);
        }
        let mut more = Pairs::clone(&known);
        let (workspace, model): (Arc<str>, Arc<str>) = (workspace.into(), model.into());
        let timings = self.timings(&model);
        let pair = Arc::new(Pair::new(self.cores, Arc::clone(&workspace), Arc::clone(&model), timings));
        // Overflow pairs are bounded by the catalogue, and do not count against the bound.
        more.count += usize::from(&*workspace != OTHER);
        more.by_workspace.entry(workspace).or_default().insert(model, Arc::clone(&pair));
        self.pairs.store(Arc::new(more));
        pair
    }

    /// The overflow pair of a call beyond the bound, if it exists already.
    fn overflow_pair(&self, known: &Pairs, workspace: &str, model: &str) -> Option<Arc<Pair>> {
        let (workspace, model) = overflow_labels(workspace, model);
        (known.count >= self.max_pairs).then(|| known.get(workspace, model).cloned()).flatten()
    }

    /// The caller must hold `growing`.
    fn timings(&self, model: &Arc<str>) -> Arc<ModelTimings> {
        let known = self.models.load();
        if let Some(found) = known.get(model) {
            return Arc::clone(found);
        }
        let new = Arc::new(ModelTimings::new(self.cores));
        let mut more = HashMap::clone(&known);
        more.insert(Arc::clone(model), Arc::clone(&new));
        self.models.store(Arc::new(more));
        new
    }

    pub fn write(&self, page: &mut Page) {
        let pairs = self.pairs.load();
        let mut all: Vec<&Arc<Pair>> = pairs.by_workspace.values().flat_map(HashMap::values).collect();
        all.sort_by(|one, other| (&one.workspace, &one.model).cmp(&(&other.workspace, &other.model)));
        let mut samples = page.family(&families::REQUESTS);
        all.iter().for_each(|pair| pair.write_outcomes(&mut samples));
        let mut samples = page.family(&families::TOKENS);
        all.iter().filter(|pair| !pair.model.is_empty()).for_each(|pair| pair.write_tokens(&mut samples));
        let mut samples = page.family(&families::FAILOVERS);
        all.iter().for_each(|pair| pair.write_failovers(&mut samples));
        let models = self.models.load();
        let named = models.iter().filter(|(name, _)| !name.is_empty());
        let mut models: Vec<(&str, &ModelTimings)> = named.map(|(name, model)| (&**name, &**model)).collect();
        models.sort_by_key(|(name, _)| *name);
        ModelTimings::write_all(page, &models);
        page.whole(&families::LABEL_SETS, pairs.count as u64);
    }
}

/// The labels of a call beyond the bound.
fn overflow_labels<'a>(workspace: &'a str, model: &'a str) -> (&'a str, &'a str) {
    let is_dedicated = endpoint_part(model).is_some();
    (if workspace.is_empty() { workspace } else { OTHER }, if is_dedicated { OTHER } else { model })
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
