//! HTTP surfaces, configuration and wiring: everything around the data plane that makes it a service.

pub mod admin;
mod app;
mod catalogue_keeper;
pub mod cli;
mod clock;
pub mod config;
mod control_plane;
mod credential;
mod data_dir;
mod doctor;
mod downloads;
mod first_start;
mod health;
mod metrics;
mod node;
mod node_report;
mod oidc;
mod price_keeper;
mod surface;
mod surface_context;
mod throttle;
mod version;
mod view;
