//! The levels of detail at which rows are stored.

use crate::usage::CallSurface;

/// Rows are stored at several levels of detail, so that a query reads only the rows it needs.
///
/// Calls of one surface have levels of their own, always with models: a workspace uses few models, so a query that does not
/// distinguish them adds up few rows, and a call is added to two more rows instead of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Workspace,
    Model,
    Key,
    ModelAndKey,
    SurfaceAndModel(CallSurface),
    SurfaceModelAndKey(CallSurface),
}

impl Level {
    /// The levels at which a call is counted. Calls from before surfaces were recorded have none.
    pub fn of_call(surface: Option<CallSurface>) -> impl Iterator<Item = Self> {
        let of_surface = surface.map(|surface| [Self::SurfaceAndModel(surface), Self::SurfaceModelAndKey(surface)]);
        [Self::Workspace, Self::Model, Self::Key, Self::ModelAndKey].into_iter().chain(of_surface.into_iter().flatten())
    }

    /// The level with the fewest rows that distinguishes models and actors as required, of all calls or of one surface.
    pub const fn with(models: bool, actors: bool, surface: Option<CallSurface>) -> Self {
        match (surface, models, actors) {
            (Some(surface), _, false) => Self::SurfaceAndModel(surface),
            (Some(surface), _, true) => Self::SurfaceModelAndKey(surface),
            (None, false, false) => Self::Workspace,
            (None, true, false) => Self::Model,
            (None, false, true) => Self::Key,
            (None, true, true) => Self::ModelAndKey,
        }
    }

    /// Whether rows are per model.
    pub const fn has_models(self) -> bool {
        match self {
            Self::Model | Self::ModelAndKey | Self::SurfaceAndModel(_) | Self::SurfaceModelAndKey(_) => true,
            Self::Workspace | Self::Key => false,
        }
    }

    /// Whether rows are per key or user.
    pub const fn has_actors(self) -> bool {
        match self {
            Self::Key | Self::ModelAndKey | Self::SurfaceModelAndKey(_) => true,
            Self::Workspace | Self::Model | Self::SurfaceAndModel(_) => false,
        }
    }

    /// The value of the column `level`: the last digit is the detail, the digits before it are the surface. So a surface needs
    /// no column, and versions that do not know it never read its rows.
    pub const fn number(self) -> i64 {
        match self {
            Self::Workspace => 0,
            Self::Model => 1,
            Self::Key => 2,
            Self::ModelAndKey => 3,
            Self::SurfaceAndModel(surface) => surface_number(surface) * 10 + 1,
            Self::SurfaceModelAndKey(surface) => surface_number(surface) * 10 + 3,
        }
    }
}

/// Stored, so a number is never changed or used again.
const fn surface_number(surface: CallSurface) -> i64 {
    match surface {
        CallSurface::Chat => 1,
        CallSurface::Messages => 2,
        CallSurface::Responses => 3,
        CallSurface::Completions => 4,
        CallSurface::Embeddings => 5,
        CallSurface::Rerank => 6,
        CallSurface::Score => 7,
        CallSurface::Batch => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn surfaces() -> impl Iterator<Item = Option<CallSurface>> {
        CallSurface::ALL.into_iter().map(Some).chain([None])
    }

    #[test]
    fn no_two_levels_share_a_number() {
        let levels: HashSet<Level> = surfaces().flat_map(Level::of_call).collect();
        let numbers: HashSet<i64> = levels.iter().map(|level| level.number()).collect();
        assert_eq!((levels.len(), numbers.len()), (4 + 2 * CallSurface::ALL.len(), levels.len()));
        assert_eq!(Level::SurfaceModelAndKey(CallSurface::Messages).number(), 23);
    }

    #[test]
    fn a_query_reads_a_level_at_which_calls_are_counted_and_that_has_what_it_needs() {
        for surface in surfaces() {
            for (models, actors) in [(false, false), (true, false), (false, true), (true, true)] {
                let level = Level::with(models, actors, surface);
                assert!(Level::of_call(surface).any(|counted| counted == level), "{level:?}");
                assert!(level.has_models() || !models, "{level:?}");
                assert_eq!(level.has_actors(), actors, "{level:?}");
            }
        }
    }
}
