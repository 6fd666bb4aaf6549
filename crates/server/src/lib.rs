//! HTTP surfaces and wiring: everything around the data plane that makes it a service.

mod app;
mod batch_runner;
pub mod cli;
mod control_plane;
mod credential;
#[cfg(feature = "single-sign-on")]
mod oidc;
#[cfg(not(feature = "single-sign-on"))]
#[path = "oidc/absent.rs"]
mod oidc;
mod surface;
mod surface_context;
mod version;
