//! The console's surface: `/api`, for signed-in people.

mod audit;
mod bad_input;
mod keys;
mod people;
pub(crate) mod person;
mod playground;
mod session;
mod usage;
mod workspaces;
