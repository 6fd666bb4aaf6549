//! The loop that makes what runs follow what is wanted, with a clock and a driver that do what they are told.

mod drains;
mod fences;
mod scaling;
mod stage;
mod starts;
