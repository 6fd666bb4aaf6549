//! Commands on dedicated endpoints, told on both databases.

mod commands;
mod ledger;
mod life;
pub(crate) mod office;
mod reading;
