//! The slow path: commands that change the store, and the loops of the control plane.
//!
//! A command checks its input, opens one transaction, and writes one row to the audit log. Its first argument is a
//! [`Command`], which has the store, the [`Author`] and the time; it returns records of the domain or a [`CommandError`].
//! Authorization is decided by the surface that calls it, with the help of [`access`].

pub mod accounts;
pub mod allotments;
pub mod batches;
pub mod bill_check;
pub mod capabilities;
pub mod catalogue;
mod catalogue_error;
mod command;
mod command_error;
pub mod costs;
pub mod endpoints;
pub mod engine_logs;
pub mod fault;
pub mod gpu_costs;
pub mod invoices;
pub mod meters;
pub mod node_requests;
pub mod nodes;
pub mod prices;
pub mod reconciler;
pub mod requests;
pub mod responses;
pub mod retention;
pub mod series;
pub mod usage;
pub mod weights;

pub use accounts::{
    access, aliases, audit, bootstrap, end_users, invitations, keys, known_origins, members, organizations, passwords,
    sessions, sign_in, single_sign_on, users, workspaces,
};
pub(crate) use accounts::{entropy, snapshot};
pub use catalogue_error::CatalogueError;
pub use command::{Author, Command};
pub use command_error::{CommandError, CommandErrorKind};
pub use prices::gpu_prices;
