//! The catalogue: all serverless models, read from the configuration and replaced as a whole on reload.

pub mod alias;
pub mod gpu_type;
pub mod model;
mod request_rules;

use crate::alias::Alias;
use crate::model::{Model, ModelId};
use std::collections::HashMap;
use std::sync::Arc;

/// All models and aliases of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    models: Vec<Arc<Model>>,
    by_id: HashMap<Box<str>, Arc<Model>>,
    aliases: Vec<Alias>,
    /// A digest of models, aliases and prices, to detect nodes with different catalogues.
    pub hash: Box<str>,
}

impl Catalogue {
    /// `models` must have distinct ids, which the configuration ensures.
    pub fn new(models: Vec<Model>, hash: &str) -> Self {
        let models: Vec<Arc<Model>> = models.into_iter().map(Arc::new).collect();
        let by_id = models.iter().map(|model| (model.id.as_str().into(), Arc::clone(model))).collect();
        Self { models, by_id, aliases: Vec::new(), hash: hash.into() }
    }

    /// `aliases` must have distinct names and models of the catalogue, which the configuration ensures.
    #[must_use]
    pub fn with_aliases(self, aliases: Vec<Alias>) -> Self {
        Self { aliases, ..self }
    }

    /// The model with this id.
    pub fn get(&self, id: &str) -> Option<&Arc<Model>> {
        self.by_id.get(id)
    }

    /// In the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.models.iter()
    }

    /// In the order of the configuration.
    pub fn aliases(&self) -> &[Alias] {
        &self.aliases
    }

    pub fn ids(&self) -> impl Iterator<Item = &ModelId> {
        self.models.iter().map(|model| &model.id)
    }
}
