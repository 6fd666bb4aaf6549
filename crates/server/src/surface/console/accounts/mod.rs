//! Organizations, workspaces, and the users in them.

pub(super) mod aliases;
pub(super) mod end_users;
pub(super) mod invitations;
pub(super) mod members;
pub(super) mod organizations;
pub(super) mod users;
pub(super) mod workspaces;
