//! The store on real databases.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on stops there")]

mod api_keys;
mod attempts;
mod audit;
mod batches;
mod bill_check;
mod budgets;
mod capabilities;
mod catalogue;
mod changes;
mod databases;
mod endpoints;
mod files;
mod fleets;
mod holds;
mod invitations;
mod leader;
mod leases;
mod ledger;
mod measures;
mod migrate;
mod node_requests;
mod nodes;
mod organizations;
mod outages;
mod outside;
mod people;
mod pools;
mod quota;
mod requests;
mod responses;
mod retention;
mod retries;
mod series;
mod sessions;
mod spend;
mod usage_events;
mod usage_sums;
mod users;
mod workspaces;
