//! Replicas as Pods of a real control plane, and three gateways on it. `make test-kubernetes` runs these stories.

mod cluster;
mod faults;
mod plant;
mod pools;
mod replicas;
mod three_nodes;
