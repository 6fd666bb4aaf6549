//! The operator's surface: `/api/operator`.

mod authorization;
mod catalogue;
mod export;
mod flavors;
mod installation;
mod keys;
mod nodes;
mod organizations;
mod other_nodes;
mod prefill_queue;
mod queues;
mod tiny_hub;
mod upstreams;
mod weights;
