//! Commands on real databases.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on stops there")]

#[path = "../../../store/tests/it/databases.rs"]
#[expect(dead_code, reason = "the tests of the store use all of it")]
mod databases;
#[path = "../../../store/tests/it/outside.rs"]
mod outside;

mod batches;
mod bootstrap;
mod capabilities;
mod catalogue;
mod endpoints;
mod invitations;
mod keys;
mod members;
mod node_requests;
mod organizations;
mod prices;
mod reconciler;
mod responses;
mod series;
mod sessions;
mod single_sign_on;
mod usage;
mod users;
mod workspaces;

use control::sessions::{Origin, SessionCommand};
use control::{Author, Command};
use domain::Timestamp;
use domain::session::Lifetimes;
use domain::workspace::Limits;
use store::Store;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const DEFAULTS: Limits =
    Limits { requests_per_minute: 600, tokens_per_minute: 200_000, monthly_tokens: 50_000_000, max_api_keys: 2 };
const LIFETIMES: Lifetimes = Lifetimes { idle_millis: 10_000, absolute_millis: 25_000 };

/// A command of the operator.
const fn command(store: &Store) -> Command<'_> {
    Command { store, author: &Author::CommandLine, now: NOW }
}

const fn session_command<'a>(store: &'a Store, origin: &'a Origin, now: Timestamp) -> SessionCommand<'a> {
    SessionCommand { store, origin, lifetimes: &LIFETIMES, now }
}
