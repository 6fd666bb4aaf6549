//! Persistent state: SQLite for one node, PostgreSQL for several, behind one set of functions.
//!
//! All SQL is in this crate, and every statement is one text for both databases. Functions that read take a [`Store`],
//! functions that write take a [`Tx`]. A rule that must hold under concurrent requests is checked where its row is
//! written. A transaction publishes its changes to the other nodes, see [`changes`]. The crate reads no clock: the
//! current time is an argument.
//!
//! Folders group the modules by noun; their modules are re-exported here, so `accounts/users.rs` is `store::users`.

mod accounts;
pub mod batches;
pub mod capabilities;
pub mod catalogue;
mod change;
mod clock;
mod cluster;
mod costs;
mod db;
pub mod endpoints;
mod error;
mod keys;
mod listing;
mod migrate;
mod page;
pub mod responses;
mod row;
pub mod stored_bytes;
pub mod usage;
mod values;

pub use accounts::{
    aliases, attempts, audit, end_users, invitations, known_origins, organizations, sessions, single_sign_on, users,
    workspaces,
};
pub use batches::files;
pub use change::Change;
pub use clock::StoreClock;
pub use cluster::changes::ChangeFeed;
pub use cluster::leader::Fenced;
pub use cluster::{changes, leader, node_requests, nodes};
pub use costs::{allotments, bill_check, gpu_busy, gpu_prices, gpu_usage, prices};
pub use db::{Engine, PoolSizes, Store, Tx};
pub use endpoints::leader_writes::LeaderWrite;
pub use endpoints::{
    autoscaler, endpoint_events, endpoint_loads, gauges, holds, idempotency, leader_writes, prefill_queues,
    replica_roots, replicas,
};
pub use error::{Conflict, StoreError};
pub use keys::content_keys::{ContentKeyError, ContentKeys};
pub use keys::{api_keys, content_keys, key_list, secrets};
pub use listing::{Cursor, Listing, Order, SortBy, SortColumn, SortExpression, SortValue, SortedRow};
pub use migrate::{Migrated, Schema};
pub use page::Page;
pub use usage::journal::{Journal, JournalReader};
pub use usage::{budgets, journal, leases, quota, requests, retention, series, spend};
