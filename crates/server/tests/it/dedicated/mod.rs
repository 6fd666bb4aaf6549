//! Dedicated endpoints from their creation to their end, with real processes as replicas.

mod batches;
mod crashes;
mod faults;
mod full_disk;
mod holding;
mod life;
mod memory;
mod nodes;
mod operator;
mod plant;
mod routing;
mod story;

pub(crate) use plant::Plant;
