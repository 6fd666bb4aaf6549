//! Background work: loops of one shape, and the set of tasks that shutdown waits for.
//!
//! A [`Loop`] runs on a period and on a nudge, backs off while its rounds fail, and keeps its last result. [`Tasks`] is
//! the only place that spawns, so that no task outlives shutdown unnoticed. What a round does is not known here. [`Turns`]
//! are the places of work that only some may do at a time, and [`LowPriorityThreads`] where work runs that must not delay
//! calls. Long waits end together, on the [`ticks`] of the process.

mod backoff;
mod looping;
mod low_priority;
mod tasks;
pub mod ticks;
mod turns;

#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use looping::{Loop, LoopStatus, Pace};
pub use low_priority::{LowPriorityThreads, lower_priority};
pub use tasks::Tasks;
pub use turns::{Turn, Turns};
