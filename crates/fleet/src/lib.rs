//! Pools of model servers, their health, the drivers that run replicas, and the table that routes calls.
//!
//! Nothing here knows a workspace or a key. The data plane looks up a pool in the table and picks a backend from it;
//! health probes and the outcome of calls decide which backends are eligible.

pub mod backend;
pub mod breaker;
mod clock;
#[cfg(test)]
mod counted_allocations;
pub mod drivers;
pub mod endpoints;
pub mod engine;
pub mod engine_pools;
pub mod health;
mod learned;
pub mod load_sharing;
pub mod logs;
pub mod machine;
mod pace;
pub mod pool;
pub mod pressure;
pub mod probe;
mod queue;
mod room;
pub mod routes;
pub mod routing;
pub mod weights;

pub use backend::Backend;
pub use endpoints::{Endpoints, LiveEndpoint};
pub use engine_pools::{EngineLogs, Engines, Launcher};
pub use load_sharing::LoadSharing;
pub use outbound::{Address, Connector, Stream, UNIX_SCHEME};
pub use pace::Pace;
pub use pool::{Availability, PickError, Pool, Slot};
pub use queue::{Outlook, Queue, QueueCharge, QueuedCall};
pub use routes::{Route, Routes};
pub use routing::{Fingerprint, FingerprintBuilder};
