//! API keys of workspaces, and the secrets that all nodes share.

pub mod api_keys;
pub mod secrets;
