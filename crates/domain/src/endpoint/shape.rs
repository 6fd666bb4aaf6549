//! What an endpoint runs, and on what: its flavor, and what of the model a start needs.

use crate::catalogue::Catalogue;
use crate::model::{Flavor, Modality, Model, ModelId};
use std::borrow::Cow;

/// Kept with the endpoint, so that it runs on when the catalogue no longer knows its flavor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    pub flavor: Flavor,
    pub modality: Modality,
    pub context_length: u64,
}

impl Shape {
    /// A flavor that the model is offered in.
    pub fn of(model: &Model, flavor: &str) -> Option<Self> {
        let flavor = model.flavors.iter().find(|offered| offered.name == flavor)?.clone();
        Some(Self { flavor, modality: model.modality, context_length: model.context_length })
    }

    /// The same flavor as the catalogue has it now, or this one if it was dropped. Hardware never changes under an
    /// endpoint: a flavor of the same name on other GPUs is another flavor.
    pub fn in_force<'a>(&'a self, model: &ModelId, catalogue: &Catalogue) -> Cow<'a, Self> {
        let listed = catalogue.get(model.as_str()).and_then(|model| Self::of(model, &self.flavor.name));
        match listed {
            Some(listed) if listed.is_on_the_hardware_of(self) => Cow::Owned(listed),
            Some(_) | None => Cow::Borrowed(self),
        }
    }

    fn is_on_the_hardware_of(&self, other: &Self) -> bool {
        (&self.flavor.gpu_type, self.flavor.gpu_count) == (&other.flavor.gpu_type, other.flavor.gpu_count)
    }
}
