//! The reconciler, with a scripted clock and driver.

mod drains;
mod fences;
mod scaling;
mod stage;
mod starts;
