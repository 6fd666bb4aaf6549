//! Organizations, people, workspaces, keys and sessions.

pub mod cache_salt;
pub mod caller;
pub mod end_user;
pub mod invitation;
pub mod key;
pub mod key_limits;
pub mod key_restrictions;
pub mod monthly_budget;
pub mod organization;
pub mod queue_weight;
pub mod response_retention;
pub mod session;
pub mod user;
pub mod workspace;
pub mod workspace_edit;
