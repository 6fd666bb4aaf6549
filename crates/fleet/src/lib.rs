//! What runs: pools of replicas, their health, and the table that routes calls to them.
//!
//! Nothing here knows a workspace or a key. The data plane asks the table for a pool and the pool for a replica;
//! probes and the outcome of calls decide which replicas are asked.

pub mod breaker;
pub mod connect;
pub mod drivers;
pub mod endpoints;
pub mod engines;
pub mod health;
pub mod pool;
pub mod replica;
pub mod routes;
pub mod token_counters;

pub use connect::{Connector, Stream};
pub use endpoints::{Endpoint, Endpoints};
pub use engines::{Engines, Launcher};
pub use pool::{Lease, Pool, Standing, Unavailable};
pub use replica::{Address, Replica};
pub use routes::{Route, Routes};
pub use token_counters::TokenCounters;
