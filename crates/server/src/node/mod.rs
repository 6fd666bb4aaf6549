//! This node: its state among others, the catalogue and prices it serves, its health, its report, and its first start.

pub(crate) mod catalogue_keeper;
pub(crate) mod data_dir;
pub(crate) mod downloads;
pub(crate) mod first_start;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod price_keeper;
pub(crate) mod report;
pub(crate) mod shared_secret;
pub(crate) mod state;
