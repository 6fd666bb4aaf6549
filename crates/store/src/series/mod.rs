//! What calls did by the minute, the hour and the day, for dashboards.
//!
//! The transaction that writes an event adds it here, so nothing is missing and nothing is counted twice. Refused calls
//! leave no event and are added as they come; a node that dies takes those of its last seconds with it.

mod add;
mod gather;
mod read;

pub(crate) use add::add;
pub use add::add_refusals;
pub use gather::Refusals;
pub use read::{Coded, MAX_ROWS, Point, Question, Wanted, read, read_codes};

/// What a row is about; with these it is found.
const KEY: [&str; 6] = ["workspace_id", "resolution", "level", "starts_at", "model", "actor"];
const COUNTS: [&str; 6] = ["requests", "errors", "prompt_tokens", "completion_tokens", "cached_tokens", "busy_micros"];
const SKETCHES: [&str; 5] = ["ttft", "time_per_output_token", "latency", "hold", "queue"];
