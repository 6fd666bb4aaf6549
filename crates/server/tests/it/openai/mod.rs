//! The inference API under `/v1`.

mod announced_bodies;
mod cancellation;
mod chat;
mod credentials;
mod embeddings;
mod errors;
mod failover;
mod gathered_tools;
mod http;
mod http2_abuse;
mod keep_alive;
mod memory;
mod models;
mod pools;
pub(crate) mod prefix_cache;
mod proxies;
mod responses;
mod restricted_keys;
mod shared_models;
mod slow_clients;
pub(crate) mod stored_responses;
mod stream;
mod validation;
