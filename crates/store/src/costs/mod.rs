//! Prices, GPU allotments, GPU time, and the bill check.

pub mod allotments;
pub mod bill_check;
pub mod gpu_busy;
pub mod gpu_prices;
pub mod gpu_usage;
pub mod prices;
