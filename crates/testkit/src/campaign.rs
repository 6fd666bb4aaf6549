//! The campaign: three nodes under load while processes, disks, clocks and networks fail, and a checker over what
//! happened.

pub mod checker;
pub mod history;
pub mod random;
pub mod schedule;
