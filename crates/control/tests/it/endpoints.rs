//! Commands on dedicated endpoints, told on both databases.

mod commands;
mod ledger;
mod life;
mod office;
mod reading;
