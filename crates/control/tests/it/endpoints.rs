//! Commands on dedicated endpoints, told on both databases.

mod commands;
mod gpu_costs;
mod ledger;
mod life;
mod meters;
mod office;
mod reading;
