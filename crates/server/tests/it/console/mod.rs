//! The console's surface: `/api`, for signed-in users.

mod audit;
mod bad_input;
mod batches;
mod bill_check;
mod costs;
mod keys;
mod lists;
mod metrics;
mod people;
pub(crate) mod person;
mod playground;
mod requests;
mod session;
mod usage;
mod workspaces;
