//! The store on real databases.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on stops there")]

mod api_keys;
mod attempts;
mod audit;
mod changes;
mod databases;
mod invitations;
mod migrate;
mod nodes;
mod organizations;
mod outages;
mod people;
mod quota;
mod sessions;
mod usage_events;
mod usage_sums;
mod users;
mod workspaces;
