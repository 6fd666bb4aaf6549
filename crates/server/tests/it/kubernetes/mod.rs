//! Replicas as Pods of a real control plane, with one or three gateways. `make test-kubernetes` runs these tests.

mod cluster;
mod faults;
mod operator;
mod plant;
mod pools;
mod replicas;
mod three_nodes;
