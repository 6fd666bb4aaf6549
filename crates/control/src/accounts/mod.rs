//! Commands on organizations, users, workspaces, keys and sessions, and the audit log that records them.

pub mod access;
pub mod aliases;
pub mod audit;
pub mod bootstrap;
pub mod end_users;
pub(crate) mod entropy;
pub mod invitations;
pub mod keys;
pub mod known_origins;
pub mod members;
pub mod organizations;
pub mod passwords;
pub mod sessions;
pub mod sign_in;
pub mod single_sign_on;
pub(crate) mod snapshot;
pub mod users;
pub mod workspaces;
