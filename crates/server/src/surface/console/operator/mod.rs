//! `/api/operator`: the platform in the hands of its operator.

pub(super) mod aliases;
pub(super) mod catalogue;
pub(super) mod downloads;
pub(super) mod flavors;
pub(super) mod gpus;
pub(super) mod health;
pub(super) mod installation;
pub(super) mod logs;
mod model_input;
mod model_view;
pub(super) mod models;
pub(super) mod nodes;
pub(super) mod organizations;
pub(super) mod prefill_queue;
pub(super) mod queues;
pub(super) mod upstreams;
pub(super) mod weights;
