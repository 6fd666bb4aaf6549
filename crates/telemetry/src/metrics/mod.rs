//! Metrics for Prometheus: their names and text, and the counters of calls, which are counted per core as they end.
//!
//! Labels are bounded: workspaces, models, statuses and codes, never keys or users.

mod calls;
pub mod families;
mod histogram;
mod page;
mod pair;
pub mod process;
pub mod routing;
mod sharded;

pub use calls::{Calls, CoreCalls, OTHER};
pub use page::{MEDIA_TYPE, Page, Samples};
