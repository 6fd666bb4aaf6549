//! The gateway from outside: the real binary between real connections and scripted engines.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on stops there")]

mod admin;
mod app;
mod engines;
mod guards;
mod lifecycle;
mod load;
mod nodes;
mod openai;
mod operations;
mod postgres;
mod quickstart;
mod usage;
mod wire;
