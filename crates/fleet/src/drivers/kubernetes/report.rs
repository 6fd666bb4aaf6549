//! What surfaces show of a cluster.

use crate::drivers::ReplicaName;
use std::collections::BTreeMap;

/// Properties of a cluster that responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterInfo {
    pub version: String,
    /// The namespace of our Pods.
    pub namespace: String,
    /// The Pods of replicas that serve calls without a key, of those that respond.
    pub unprotected: Vec<String>,
    /// Whether there are more Pods than were called.
    pub has_more_pods: bool,
    /// Why Pods cannot be listed; `None` if they can.
    pub pods_error: Option<String>,
    /// Why nodes cannot be listed; `None` if they can.
    pub nodes_error: Option<String>,
}

/// GPUs of one type on one node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterGpus {
    pub node: String,
    pub gpu_type: String,
    /// Those that Pods can have.
    pub allocatable: u32,
    /// Whether the node accepts new Pods: it is ready and not cordoned.
    pub accepts_pods: bool,
    /// GPUs of replicas of dedicated endpoints.
    pub replicas: u32,
    /// GPUs of serverless pools, by model.
    pub pools: BTreeMap<String, u32>,
    /// GPUs of Pods of others; `None` if they are unknown.
    pub others: Option<u32>,
}

/// A Pod whose log can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodLog {
    pub replica: ReplicaName,
    /// The node of the cluster; `None` until the scheduler has chosen one.
    pub node: Option<String>,
    pub model: Option<String>,
}
