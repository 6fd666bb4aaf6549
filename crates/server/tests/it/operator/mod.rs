//! The operator's surface: `/api/operator`.

mod authorization;
mod catalogue;
mod keys;
mod organizations;
mod upstreams;
