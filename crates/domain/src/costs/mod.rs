//! Money: prices, the dimensions by which costs are grouped, and forecasts.

pub mod forecast;
pub mod gpu_costs;
pub mod grouping;
pub mod money;
