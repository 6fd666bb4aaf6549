//! Rows per minute, hour and day, for dashboards.
//!
//! The transaction that writes an event adds it here, so every event is counted exactly once. Rejected calls have no event
//! and are added every second; if a node dies, those of its last second are lost.

mod add;
mod gather;
mod read;

pub(crate) use add::add;
pub use add::add_rejections;
pub use gather::Rejections;
pub use read::{CodeCount, MAX_ROWS, Measure, Point, Selection, read, read_codes};

/// The key columns of a row.
const KEY: [&str; 6] = ["workspace_id", "resolution", "level", "starts_at", "model", "actor"];
/// `errors` is for nodes of the version before, which read it; errors are counted by their codes.
const COUNTS: [&str; 6] = ["requests", "errors", "prompt_tokens", "completion_tokens", "cached_tokens", "busy_micros"];
const SKETCHES: [&str; 5] = ["ttft", "time_per_output_token", "latency", "hold", "queue"];
