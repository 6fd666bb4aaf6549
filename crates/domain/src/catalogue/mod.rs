//! The catalogue: all serverless models, read from the configuration and the store, and replaced as a whole.

pub mod alias;
mod batch_share;
pub mod capabilities;
mod chat_traits;
pub mod flavor_fit;
pub mod gpu_type;
pub mod model;
mod request_rules;

use crate::alias::Alias;
use crate::model::{Model, ModelId};
use crate::named_enum;
use std::collections::HashMap;
use std::sync::Arc;

named_enum! {
    /// Where the catalogue comes from.
    #[derive(Default)]
    pub enum CatalogueMode {
        /// The configuration file alone.
        File = "file",
        /// The store alone: operators manage it through the API.
        Store = "store",
        #[default]
        Both = "both",
    }
}

impl CatalogueMode {
    pub const fn has_file(self) -> bool {
        matches!(self, Self::File | Self::Both)
    }

    pub const fn has_store(self) -> bool {
        matches!(self, Self::Store | Self::Both)
    }
}

/// All models and aliases.
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

    /// Whether a model or an alias has exactly this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.by_id.contains_key(name) || self.aliases.iter().any(|alias| alias.name.as_str() == name)
    }

    /// In the order of the configuration.
    pub fn aliases(&self) -> &[Alias] {
        &self.aliases
    }

    pub fn ids(&self) -> impl Iterator<Item = &ModelId> {
        self.models.iter().map(|model| &model.id)
    }
}
