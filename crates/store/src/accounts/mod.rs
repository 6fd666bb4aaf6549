//! Organizations, workspaces, users and how they sign in; the audit log of their changes.

pub mod aliases;
pub mod attempts;
pub mod audit;
pub mod end_users;
pub mod invitations;
pub mod known_origins;
pub mod organizations;
pub mod sessions;
pub mod single_sign_on;
pub mod users;
pub mod workspaces;
