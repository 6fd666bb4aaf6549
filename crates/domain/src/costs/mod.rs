//! Reports on costs: the dimensions by which they are grouped, and forecasts.

pub mod forecast;
pub mod gpu_costs;
pub mod grouping;
