//! What tests and benchmarks share: a scripted engine, a client that shows exact bytes, and child processes.
//!
//! Nothing here knows how the gateway is built; it speaks HTTP to it and starts its binary like anyone else.

pub mod balancer;
pub mod bench;
pub mod fake_engine;
pub mod http;
pub mod kubelet;
pub mod process;
