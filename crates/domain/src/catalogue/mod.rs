//! The catalogue: all serverless models, read from the configuration and replaced as a whole on reload.

pub mod gpu_type;
pub mod model;
mod request_rules;

use crate::model::{Model, ModelId};
use std::collections::HashMap;
use std::sync::Arc;

/// All models of the configuration, by id.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    models: Vec<Arc<Model>>,
    by_id: HashMap<Box<str>, Arc<Model>>,
    /// A digest of models and prices, to detect nodes with different catalogues.
    pub hash: Box<str>,
}

impl Catalogue {
    /// `models` must have distinct ids, which the configuration ensures.
    pub fn new(models: Vec<Model>, hash: &str) -> Self {
        let models: Vec<Arc<Model>> = models.into_iter().map(Arc::new).collect();
        let by_id = models.iter().map(|model| (model.id.as_str().into(), Arc::clone(model))).collect();
        Self { models, by_id, hash: hash.into() }
    }

    /// The model with this id.
    pub fn get(&self, id: &str) -> Option<&Arc<Model>> {
        self.by_id.get(id)
    }

    /// In the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.models.iter()
    }

    pub fn ids(&self) -> impl Iterator<Item = &ModelId> {
        self.models.iter().map(|model| &model.id)
    }
}
