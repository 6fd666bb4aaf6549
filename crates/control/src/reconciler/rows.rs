//! The rows of the control plane, as its leader reads and writes them.

use domain::autoscaler::Memory;
use domain::endpoint::replica::Replica;
use domain::endpoint_load::LoadReport;
use domain::leadership::Term;
use domain::{Endpoint, EndpointId, ReplicaId, Timestamp};
use std::future::Future;
use store::nodes::Node;
use store::{
    LeaderWrite, Page, Store, StoreError, autoscaler, endpoint_loads, endpoints, holds, leader, leader_writes, nodes,
    replicas,
};

/// A [`Store`], or rows in memory. What the leader writes, it writes with [`Rows::commit`].
pub(super) trait Rows: Clone + Send + Sync + 'static {
    fn term(&self) -> impl Future<Output = Result<Term, StoreError>> + Send;

    fn take_over(
        &self,
        seen: &Term,
        holder: &str,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Term>, StoreError>> + Send;

    fn renew(&self, epoch: u64, holder: &str, now: Timestamp) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// All endpoints that are not deleted.
    fn endpoints(&self) -> impl Future<Output = Result<Vec<Endpoint>, StoreError>> + Send;

    /// The replicas of all endpoints that have not ended.
    fn live_replicas(&self) -> impl Future<Output = Result<Vec<Replica>, StoreError>> + Send;

    /// The newest replicas of an endpoint, ended or not, oldest first.
    fn newest_replicas(
        &self,
        endpoint: &EndpointId,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Replica>, StoreError>> + Send;

    /// The load reports of all nodes, by endpoint.
    fn load_reports(&self) -> impl Future<Output = Result<Vec<LoadReport>, StoreError>> + Send;

    /// The store's current time: the one clock that all nodes share.
    fn clock(&self) -> impl Future<Output = Result<Timestamp, StoreError>> + Send;

    /// The drain time of an endpoint's replicas.
    fn drain_secs(&self, endpoint: &EndpointId) -> impl Future<Output = Result<Option<u32>, StoreError>> + Send;

    /// When the replica of an open hold was last seen.
    fn last_seen(&self, replica: &ReplicaId) -> impl Future<Output = Result<Option<Timestamp>, StoreError>> + Send;

    fn nodes(&self) -> impl Future<Output = Result<Vec<Node>, StoreError>> + Send;

    /// The autoscaler's memory of an endpoint.
    fn scaling_memory(&self, endpoint: &EndpointId) -> impl Future<Output = Result<Option<Memory>, StoreError>> + Send;

    /// Stores all writes of the leader of `epoch`, or none.
    fn commit(&self, epoch: u64, writes: &[LeaderWrite<'_>]) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Rows for Store {
    async fn term(&self) -> Result<Term, StoreError> {
        leader::read(self).await
    }

    async fn take_over(&self, seen: &Term, holder: &str, now: Timestamp) -> Result<Option<Term>, StoreError> {
        leader::take_over(self, seen, holder, now).await
    }

    async fn renew(&self, epoch: u64, holder: &str, now: Timestamp) -> Result<bool, StoreError> {
        leader::renew(self, epoch, holder, now).await
    }

    async fn endpoints(&self) -> Result<Vec<Endpoint>, StoreError> {
        endpoints::list_all(self).await
    }

    async fn live_replicas(&self) -> Result<Vec<Replica>, StoreError> {
        replicas::list_live(self).await
    }

    async fn newest_replicas(&self, endpoint: &EndpointId, limit: u32) -> Result<Vec<Replica>, StoreError> {
        replicas::newest_of(self, endpoint, limit).await
    }

    async fn load_reports(&self) -> Result<Vec<LoadReport>, StoreError> {
        endpoint_loads::list(self).await
    }

    async fn clock(&self) -> Result<Timestamp, StoreError> {
        Self::clock(self).await
    }

    async fn drain_secs(&self, endpoint: &EndpointId) -> Result<Option<u32>, StoreError> {
        endpoints::drain_secs(self, endpoint).await
    }

    async fn last_seen(&self, replica: &ReplicaId) -> Result<Option<Timestamp>, StoreError> {
        holds::last_seen(self, replica).await
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        nodes::list(self, Page::default()).await
    }

    async fn scaling_memory(&self, endpoint: &EndpointId) -> Result<Option<Memory>, StoreError> {
        autoscaler::recall(self, endpoint).await
    }

    async fn commit(&self, epoch: u64, writes: &[LeaderWrite<'_>]) -> Result<(), StoreError> {
        leader_writes::commit(self, epoch, writes).await
    }
}
