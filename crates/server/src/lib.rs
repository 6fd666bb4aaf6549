//! HTTP surfaces, configuration and wiring: everything around the data plane that makes it a service.

pub mod admin;
mod app;
pub mod cli;
mod clock;
pub mod config;
mod control_plane;
mod credential;
mod doctor;
mod node;
mod oidc;
mod surface;
mod surface_context;
mod version;
mod view;
