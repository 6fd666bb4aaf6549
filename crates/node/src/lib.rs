//! What a node knows of itself: the catalogue and prices that it serves, its clock, its health, its state among others, its
//! report, its metrics, its first start, and the doctor.

pub mod catalogue_keeper;
pub mod clock;
pub mod data_dir;
pub mod doctor;
pub mod downloads;
pub mod first_start;
pub mod health;
pub mod metrics;
pub mod price_keeper;
pub mod report;
pub mod shared_secret;
pub mod state;
pub mod upstream_keys;
