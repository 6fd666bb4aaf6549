//! The slow path: commands that change what is remembered.
//!
//! A command checks what it is given, opens one transaction, and leaves one row in the audit log. It takes the moment
//! and the [`Author`] as arguments and answers with records of the domain or a [`CommandError`]; who may ask for what is
//! decided by the surface that calls it, with the help of [`access`].

pub mod access;
pub mod allotments;
pub mod audit;
mod author;
pub mod bill_check;
pub mod bootstrap;
mod command_error;
pub mod costs;
pub mod endpoints;
mod entropy;
pub mod fault;
pub mod gpu_costs;
pub mod gpu_prices;
pub mod invitations;
pub mod invoices;
pub mod keys;
pub mod members;
pub mod meters;
pub mod nodes;
pub mod organizations;
pub mod passwords;
pub mod prices;
pub mod reconciler;
pub mod requests;
pub mod retention;
pub mod series;
pub mod sessions;
pub mod sign_in;
pub mod single_sign_on;
mod snapshot;
pub mod usage;
pub mod users;
pub mod workspaces;

pub use author::Author;
pub use command_error::{CommandError, CommandErrorKind};
