//! Executes the next step of one replica.

use super::Round;
use crate::endpoints::new_event;
use crate::fault;
use crate::reconciler::RoundError;
use crate::reconciler::plan::{ReplicaAction, next_action};
use crate::reconciler::rows::Rows;
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::failure::FailureClass;
use domain::endpoint::replica::{Intent, Replica, ReplicaState};
use domain::model::DriverKind;
use domain::{Endpoint, Timestamp};
use fleet::drivers::kubernetes::KubernetesDriver;
use fleet::drivers::{DeviceId, Driver, ReplicaName};
use store::LeaderWrite;

/// Minimum drain: nodes need a moment to stop routing to a replica.
const MIN_DRAIN_MILLIS: u64 = 2_000;
/// Timeout for GPUs that are still in use after the replica's process has ended.
const GPU_RELEASE_MILLIS: u64 = 30_000;

impl<D: Driver + Clone, S: Rows> Round<'_, D, S> {
    pub(super) async fn advance(&mut self, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), RoundError> {
        if !self.is_observable(replica) {
            return Ok(());
        }
        let name = name_of(replica);
        let observation = self.snapshot.observation(replica);
        if observation.is_none() && replica.node.is_some() && !self.is_gone(&name, replica.driver).await {
            return Ok(());
        }
        match next_action(replica, observation, self.now) {
            ReplicaAction::Wait => Ok(()),
            ReplicaAction::Start => self.start(endpoint, replica).await,
            ReplicaAction::Probe => self.probe(endpoint, replica).await,
            ReplicaAction::Drain => self.drain(endpoint, replica).await,
            ReplicaAction::Stop => {
                self.stop(&name).await;
                Ok(())
            }
            ReplicaAction::Retire => {
                replica.transition(ReplicaState::Draining)?;
                (replica.intent, replica.drain_until) = (Intent::Remove, None);
                self.write(replica).await
            }
            ReplicaAction::End { at: Some(at), .. } if self.holds_gpus(replica, at).await => Ok(()),
            ReplicaAction::End { at: Some(at), failure } => self.end(endpoint, replica, at, failure).await,
            ReplicaAction::End { at: None, failure } => {
                let at = self.parts.store.last_seen(&replica.id).await?.unwrap_or(self.now);
                self.end(endpoint, replica, at, failure).await
            }
        }
    }

    /// Processes of other machines are not observable, and Pods only once the cluster's state was read.
    fn is_observable(&self, replica: &Replica) -> bool {
        match replica.driver {
            DriverKind::Process => replica.node.as_deref().is_none_or(|node| self.parts.reach.covers(node)),
            DriverKind::Kubernetes => self.parts.driver.cluster().is_some_and(KubernetesDriver::is_synced),
        }
    }

    /// Whether a replica that was not listed really does not exist.
    async fn is_gone(&self, name: &ReplicaName, kind: DriverKind) -> bool {
        let gone = match (kind, self.parts.driver.cluster()) {
            // A list of processes is never older than their start.
            (DriverKind::Process, _) => return true,
            (DriverKind::Kubernetes, None) => return false,
            (DriverKind::Kubernetes, Some(cluster)) => cluster.is_gone(name).await,
        };
        gone.unwrap_or_else(|error| {
            tracing::debug!(replica.id = %name, %error, "cannot determine whether a replica is gone");
            false
        })
    }

    /// Whether the GPUs of a replica that has just ended are still in use.
    async fn holds_gpus(&self, replica: &Replica, ended_at: Timestamp) -> bool {
        if replica.gpu_ids.is_empty() || self.now.millis_since(ended_at) >= GPU_RELEASE_MILLIS {
            return false;
        }
        !self.parts.driver.busy_devices(&devices_of(replica)).await.is_empty()
    }

    /// Lets a replica finish its calls, and stops it when they are done or the drain's deadline has passed.
    async fn drain(&self, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), RoundError> {
        let name = name_of(replica);
        if !replica.may_stay(self.now) {
            // Stored before the stop, like below, since the next leader's clock may be behind the deadline.
            if replica.drain_until.take().is_some() {
                self.write(replica).await?;
            }
            self.stop(&name).await;
            return Ok(());
        }
        let is_done = match self.parts.driver.drain(&name).await {
            Ok(draining) => {
                // The engine's count where it has one, and the counts of all nodes in any case.
                let is_engine_idle = draining.in_flight.is_none_or(|count| count == 0);
                let is_drained = self.snapshot.loads_of(&endpoint.id).is_drained(&replica.id);
                is_engine_idle && is_drained && self.now.millis_since(draining.since) >= MIN_DRAIN_MILLIS
            }
            Err(error) => {
                tracing::warn!(replica.id = %replica.id, %error, "cannot drain a replica");
                false
            }
        };
        if !is_done {
            return Ok(());
        }
        // Stored before the stop: from now on the replica cannot be kept any more.
        replica.drain_until = None;
        let drained = event(endpoint, replica, EventType::ReplicaDrained, "", self.now);
        self.commit(&[LeaderWrite::Replica(replica), LeaderWrite::Event(&drained)]).await?;
        fault::point("drained-before-stop");
        self.stop(&name).await;
        fault::point("stopped");
        Ok(())
    }

    /// Keeps a draining replica that is needed again.
    pub(super) async fn keep(&self, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), RoundError> {
        if let Err(error) = self.parts.driver.undrain(&name_of(replica)).await {
            tracing::warn!(replica.id = %replica.id, endpoint.name = %endpoint.name, %error, "cannot undrain a replica");
        }
        replica.transition(ReplicaState::Ready)?;
        (replica.intent, replica.drain_until) = (Intent::Run, None);
        self.write(replica).await
    }

    pub(super) async fn stop(&self, name: &ReplicaName) {
        if self.still_leads().is_err() {
            return;
        }
        if let Err(error) = self.parts.driver.stop(name).await {
            tracing::warn!(replica.id = %name, %error, "cannot stop a replica");
        }
    }

    /// Records the end of a replica. Its hold ends when its process did.
    pub(super) async fn end(
        &mut self,
        endpoint: &Endpoint,
        replica: &mut Replica,
        at: Timestamp,
        failure: Option<(FailureClass, String)>,
    ) -> Result<(), RoundError> {
        self.probes.forget(&replica.id);
        // The clock of another machine may be wrong or round to seconds. It has not ended before it was last seen.
        let last_seen = self.parts.store.last_seen(&replica.id).await?;
        let at = at.max(last_seen.unwrap_or(replica.created_at)).max(replica.created_at).min(self.now);
        let log_tail = self.parts.driver.log_tail(&name_of(replica)).await;
        if !log_tail.is_empty() {
            replica.log_tail = log_tail; // otherwise the last known one stays
        }
        replica.ended_at = Some(at);
        let never_ready = replica.ready_at.is_none();
        let (kind, reason, message) = match failure {
            None => (EventType::ReplicaReleased, "released", String::new()),
            Some((class, message)) => {
                (replica.failure, replica.last_error) = (Some(class), Some(message.clone()));
                (EventType::ReplicaFailed, class.as_str(), message)
            }
        };
        replica.transition(if replica.failure.is_some() { ReplicaState::Failed } else { ReplicaState::Released })?;
        let not_released = self.parts.driver.busy_devices(&devices_of(replica)).await;
        let mut ended = Event { reason: reason.to_owned(), ..event(endpoint, replica, kind, &message, self.now) };
        if !not_released.is_empty() {
            ended.reason = "gpu-not-released".to_owned();
            tracing::warn!(replica.id = %replica.id, cards = ?not_released, "a process still computes on freed GPUs");
        }
        let failed_start = replica.failure.is_some() && never_ready;
        let mut writes = vec![LeaderWrite::CloseHold { replica: &replica.id, at, reason }];
        writes.extend(failed_start.then_some(LeaderWrite::NotBilled(&replica.id)));
        writes.extend([LeaderWrite::Replica(replica), LeaderWrite::Event(&ended)]);
        fault::point("ended-before-commit");
        self.commit(&writes).await?;
        fault::point("ended-after-commit");
        self.parts.nudge.notify_one();
        Ok(())
    }
}

fn devices_of(replica: &Replica) -> Vec<DeviceId> {
    replica.gpu_ids.iter().map(|id| DeviceId::new(id)).collect()
}

pub(in crate::reconciler) fn name_of(replica: &Replica) -> ReplicaName {
    ReplicaName::parse(replica.id.as_str()).expect("ids are made of letters and digits")
}

pub(super) fn event(endpoint: &Endpoint, replica: &Replica, kind: EventType, message: &str, now: Timestamp) -> Event {
    let actor = Actor::system("reconciler");
    Event {
        replica: Some(replica.id.clone()),
        message: message.to_owned(),
        ..new_event(&endpoint.id, kind, actor, now)
    }
}
