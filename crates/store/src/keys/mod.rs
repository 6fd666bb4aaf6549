//! API keys of workspaces, the operator's keys for content, and the secrets that all nodes share.

pub mod api_keys;
pub mod content_keys;
pub mod key_list;
pub mod secrets;
