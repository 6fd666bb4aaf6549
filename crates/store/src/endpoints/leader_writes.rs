//! A transaction of the leader as a value: writes that are stored together or not at all.
//!
//! The control plane decides what to write and hands it over in one piece, so that a test can run the same decisions
//! against rows in memory.

use super::holds::{self, NewHold};
use super::{autoscaler, endpoint_events, endpoint_loads, lock_unchanged, mark_deleted, replicas, update_as_leader};
use crate::cluster::leader::Fenced;
use crate::db::Store;
use crate::error::StoreError;
use domain::autoscaler::Memory;
use domain::endpoint::Generation;
use domain::endpoint::event::Event;
use domain::endpoint::replica::Replica;
use domain::{Endpoint, EndpointId, ReplicaId, Timestamp};

#[derive(Debug, Clone, Copy)]
pub enum LeaderWrite<'a> {
    /// Writes nothing, and fails if the endpoint is no longer at this generation. Without it, the GPUs of a suspended
    /// endpoint could be claimed by a leader that has not read of the suspension yet.
    Unchanged(&'a Endpoint),
    AddReplica(&'a Replica),
    /// The current state of a replica. One that has ended stays unchanged.
    Replica(&'a Replica),
    /// Claims the GPUs of a replica.
    OpenHold(NewHold<'a>),
    /// Ends a hold and frees its GPUs, unless it has ended.
    CloseHold {
        replica: &'a ReplicaId,
        at: Timestamp,
        reason: &'a str,
    },
    /// A replica with an open hold was seen.
    Seen {
        replica: &'a ReplicaId,
        at: Timestamp,
    },
    /// The hold of a start that failed permanently.
    NotBilled(&'a ReplicaId),
    Event(&'a Event),
    /// The next generation of an endpoint that is still at generation `seen`.
    Endpoint {
        changed: &'a Endpoint,
        seen: Generation,
        drain_secs: u32,
    },
    /// Deletes an endpoint that is still at this generation, and the memory and reports about it.
    DeleteEndpoint {
        endpoint: &'a Endpoint,
        at: Timestamp,
    },
    ScalingMemory {
        endpoint: &'a EndpointId,
        memory: &'a Memory,
    },
}

/// Stores all writes in one transaction. Fails if the epoch is over or an endpoint has changed since it was read.
pub async fn commit(store: &Store, epoch: u64, writes: &[LeaderWrite<'_>]) -> Result<(), StoreError> {
    let mut tx = Fenced::begin(store, epoch).await?;
    for write in writes {
        apply(&mut tx, *write).await?;
    }
    tx.commit().await
}

async fn apply(tx: &mut Fenced, write: LeaderWrite<'_>) -> Result<(), StoreError> {
    match write {
        LeaderWrite::Unchanged(endpoint) => lock_unchanged(tx, endpoint).await,
        LeaderWrite::AddReplica(replica) => replicas::insert(tx, replica).await,
        LeaderWrite::Replica(replica) => replicas::update(tx, replica).await.map(drop),
        LeaderWrite::OpenHold(new) => holds::open(tx, new).await,
        LeaderWrite::CloseHold { replica, at, reason } => holds::close(tx, replica, at, reason).await.map(drop),
        LeaderWrite::Seen { replica, at } => holds::seen(tx, replica, at).await,
        LeaderWrite::NotBilled(replica) => holds::not_billed(tx, replica).await,
        LeaderWrite::Event(event) => endpoint_events::append(tx, event).await,
        LeaderWrite::Endpoint { changed, seen, drain_secs } => {
            update_as_leader(tx, changed.clone(), seen, drain_secs).await.map(drop)
        }
        LeaderWrite::DeleteEndpoint { endpoint, at } => {
            mark_deleted(tx, endpoint, at).await?;
            autoscaler::forget(tx, &endpoint.id).await?;
            endpoint_loads::forget(tx, &endpoint.id).await
        }
        LeaderWrite::ScalingMemory { endpoint, memory } => autoscaler::remember(tx, endpoint, memory).await,
    }
}
