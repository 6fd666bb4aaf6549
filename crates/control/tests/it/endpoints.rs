//! Commands and queries on dedicated endpoints, on both databases.

mod commands;
mod gpu_costs;
mod ledger;
mod life;
mod meters;
pub(crate) mod platform;
mod reading;
