//! Integration tests: the real binary between real connections and scripted engines.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod admin;
mod anthropic;
mod app;
mod backup;
mod batches;
mod clocks;
mod console;
#[path = "../../../store/tests/it/databases.rs"]
#[expect(dead_code, reason = "the tests of the store use all of it")]
mod databases;
mod dedicated;
mod doctor;
mod documents;
mod endpoints;
mod engine_failover;
mod engine_script;
mod engines;
mod guards;
mod hosted_provider;
mod journal;
mod kubernetes;
mod lifecycle;
mod limits;
mod load;
mod make_run;
mod metering;
mod metrics;
mod native;
mod nodes;
mod openai;
mod operations;
mod operator;
mod postgres;
mod quickstart;
mod readiness;
mod redis;
mod replica_shim;
mod restarts;
mod several_nodes;
mod site;
mod small_disk;
mod store_time;
mod usage;
mod wire;
