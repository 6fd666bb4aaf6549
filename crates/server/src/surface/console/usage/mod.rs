//! Reports: usage and quota, the request log, charts, what waits, costs, and the bill check.

pub(super) mod bill_check;
pub(super) mod costs;
pub(super) mod gpu_costs;
pub(super) mod metrics;
pub(super) mod queues;
pub(super) mod report;
pub(super) mod requests;
