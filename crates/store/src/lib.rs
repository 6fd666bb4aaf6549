//! What is remembered: SQLite for one node, PostgreSQL for several, behind one set of functions.
//!
//! SQL is in this crate and nowhere else, and every statement is one text for both databases. Reading functions take a
//! [`Store`], writing ones a [`Tx`]; a rule that must survive two requests at once is checked where its row is written.
//! What other nodes must hear about is announced by the same transaction, see [`changes`]. The crate reads no clock:
//! every moment is an argument.

pub mod allotments;
pub mod api_keys;
pub mod attempts;
pub mod audit;
pub mod autoscaler;
pub mod bill_check;
pub mod changes;
mod db;
pub mod endpoint_events;
pub mod endpoint_loads;
pub mod endpoints;
mod error;
pub mod gauges;
pub mod gpu_busy;
pub mod gpu_prices;
pub mod gpu_usage;
pub mod holds;
pub mod idempotency;
pub mod invitations;
pub mod journal;
mod json_line;
pub mod leader;
mod migrate;
pub mod nodes;
pub mod organizations;
mod page;
pub mod prices;
pub mod quota;
pub mod replica_roots;
pub mod replicas;
pub mod requests;
pub mod retention;
mod row;
pub mod secrets;
pub mod series;
pub mod sessions;
pub mod single_sign_on;
pub mod usage_events;
mod usage_kinds;
pub mod usage_sums;
pub mod users;
mod values;
pub mod workspaces;

pub use changes::{Change, ChangeFeed};
pub use db::{Engine, Store, Tx};
pub use error::StoreError;
pub use journal::{Journal, JournalReader};
pub use json_line::JsonLine;
pub use leader::Fenced;
pub use migrate::{Migrated, Schema};
pub use page::Page;
