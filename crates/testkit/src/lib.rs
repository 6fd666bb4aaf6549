//! Shared tools of tests and benchmarks: a scripted engine, an HTTP client that shows exact bytes, and child processes.
//!
//! Nothing here depends on the gateway's code: it is started as a binary and called over HTTP.

pub mod balancer;
pub mod fake_engine;
pub mod fake_hub;
pub mod gateway_config;
pub mod http;
pub mod pod_security;
pub mod process;
