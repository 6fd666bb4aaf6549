//! The operator's surface: `/api/operator`.

mod authorization;
mod catalogue;
mod keys;
mod nodes;
mod organizations;
mod upstreams;
