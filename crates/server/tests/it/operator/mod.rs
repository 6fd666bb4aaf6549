//! The operator's surface: `/api/operator`.

mod authorization;
mod catalogue;
mod export;
mod keys;
mod nodes;
mod organizations;
mod upstreams;
mod weights;
