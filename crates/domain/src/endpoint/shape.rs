//! The shape of an endpoint: its flavor, and the properties of the model that a start needs.

use crate::catalogue::Catalogue;
use crate::model::{Flavor, Modality, Model, ModelId};
use std::borrow::Cow;

/// Stored with the endpoint, so that it keeps running when the catalogue no longer lists its flavor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    pub flavor: Flavor,
    pub modality: Modality,
    pub context_length: u64,
}

impl Shape {
    /// The shape of a model's flavor; `None` if the model is not offered in it.
    pub fn of(model: &Model, flavor: &str) -> Option<Self> {
        let flavor = model.flavors.iter().find(|offered| offered.name == flavor)?.clone();
        Some(Self { flavor, modality: model.modality, context_length: model.context_length })
    }

    /// The flavor as the catalogue lists it now, or this one if it is no longer listed. The hardware of an endpoint never
    /// changes: a listed flavor of the same name with other GPUs is ignored.
    pub fn effective<'a>(&'a self, model: &ModelId, catalogue: &Catalogue) -> Cow<'a, Self> {
        let listed = catalogue.get(model.as_str()).and_then(|model| Self::of(model, &self.flavor.name));
        match listed {
            Some(listed) if listed.has_hardware_of(self) => Cow::Owned(listed),
            Some(_) | None => Cow::Borrowed(self),
        }
    }

    fn has_hardware_of(&self, other: &Self) -> bool {
        (&self.flavor.gpu_type, self.flavor.gpu_count) == (&other.flavor.gpu_type, other.flavor.gpu_count)
    }
}
