//! Does the next thing for one replica.

use super::step::{Step, decide};
use super::{Picture, Reconciler, RoundError};
use crate::endpoints::new_event;
use crate::fault;
use domain::endpoint::FailureClass;
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::replica::{Intent, Replica, ReplicaState};
use domain::model::DriverKind;
use domain::{Endpoint, Timestamp};
use fleet::drivers::{DeviceId, Driver, ReplicaName};
use store::{Fenced, endpoint_events, holds, replicas};

/// Gateways need a moment to see that a replica gets no new calls.
const LEAST_DRAIN_MILLIS: u64 = 2_000;
/// How long a card is waited for on which a process that has ended still computes.
const RELEASE_MILLIS: u64 = 30_000;

impl<D: Driver + Clone> Reconciler<D> {
    /// Looks at a replica and does what follows.
    pub(super) async fn follow(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &mut Replica,
        picture: &Picture,
    ) -> Result<(), RoundError> {
        if !self.is_in_sight(replica) {
            return Ok(());
        }
        let now = (self.parts.now)();
        let observed = picture.sighting(replica);
        let name = name_of(replica);
        if observed.is_none() && replica.node.is_some() && !self.is_gone(&name, replica.driver).await {
            return Ok(());
        }
        match decide(replica, observed.map(|observed| &observed.sighting), now) {
            Step::Wait => Ok(()),
            Step::Start => self.start(epoch, endpoint, replica).await,
            Step::Ask => self.ask(epoch, endpoint, replica).await,
            Step::Drain => self.drain(epoch, endpoint, replica, picture).await,
            Step::Stop => {
                self.stop(&name).await;
                Ok(())
            }
            Step::LetGo => {
                replica.transition(ReplicaState::Draining)?;
                (replica.intent, replica.drain_until) = (Intent::Go, Some(now));
                self.write(epoch, replica).await
            }
            Step::Over { at: Some(at), .. } if self.is_not_released(replica, at, now).await => Ok(()),
            Step::Over { at: Some(at), ending } => self.end(epoch, endpoint, replica, at, ending).await,
            Step::Over { at: None, ending } => {
                let at = holds::last_seen(&self.parts.store, &replica.id).await?.unwrap_or(now);
                self.end(epoch, endpoint, replica, at, ending).await
            }
        }
    }

    /// Another machine's processes are not seen from here, and Pods only once the cluster was heard of.
    fn is_in_sight(&self, replica: &Replica) -> bool {
        match replica.driver {
            DriverKind::Process => replica.node.as_deref().is_none_or(|node| self.parts.reach.covers(node)),
            DriverKind::Kubernetes => self.parts.driver.sees(DriverKind::Kubernetes),
        }
    }

    /// Whether a replica that was not listed is really not there.
    async fn is_gone(&self, name: &ReplicaName, kind: DriverKind) -> bool {
        self.parts.driver.is_gone(name, kind).await.unwrap_or_else(|error| {
            tracing::debug!(replica.id = %name, %error, "nobody can say whether a replica is gone");
            false
        })
    }

    /// Whether something still computes on the cards of a replica that has just ended: they are not free yet.
    async fn is_not_released(&self, replica: &Replica, ended_at: Timestamp, now: Timestamp) -> bool {
        if replica.gpu_ids.is_empty() || now.millis_since(ended_at) >= RELEASE_MILLIS {
            return false;
        }
        let cards: Vec<DeviceId> = replica.gpu_ids.iter().map(|id| DeviceId::new(id)).collect();
        !self.parts.driver.not_released(&cards).await.is_empty()
    }

    /// Lets a replica finish its calls, and stops it when they are done or its time is up.
    async fn drain(
        &self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &mut Replica,
        picture: &Picture,
    ) -> Result<(), RoundError> {
        let (now, name) = ((self.parts.now)(), name_of(replica));
        if !replica.may_stay(now) {
            self.stop(&name).await; // it was told before, or its time is up
            return Ok(());
        }
        let is_done = match self.parts.driver.drain(&name).await {
            Ok(draining) => {
                // The engine's own count where there is one, and every gateway's in any case.
                let is_quiet = draining.in_flight.is_none_or(|count| count == 0);
                let is_let_go = picture.loads_of(&endpoint.id).is_drained(&replica.id);
                is_quiet && is_let_go && now.millis_since(draining.since) >= LEAST_DRAIN_MILLIS
            }
            Err(error) => {
                tracing::warn!(replica.id = %replica.id, %error, "a replica cannot be drained");
                false
            }
        };
        if !is_done {
            return Ok(());
        }
        // Written before it is told: from now on it cannot stay after all.
        replica.drain_until = Some(now);
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        replicas::update(&mut tx, replica).await?;
        endpoint_events::append(&mut tx, &event(endpoint, replica, EventType::ReplicaDrained, "", now)).await?;
        tx.commit().await?;
        fault::point("drained-before-stop");
        self.stop(&name).await;
        fault::point("stopped");
        Ok(())
    }

    /// A replica that was to go may stay after all: that saves a cold start.
    pub(super) async fn keep(&self, epoch: u64, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), RoundError> {
        if let Err(error) = self.parts.driver.undrain(&name_of(replica)).await {
            tracing::warn!(replica.id = %replica.id, endpoint.name = %endpoint.name, %error, "a replica cannot be kept");
        }
        replica.transition(ReplicaState::Ready)?;
        (replica.intent, replica.drain_until) = (Intent::Run, None);
        self.write(epoch, replica).await
    }

    pub(super) async fn stop(&self, name: &ReplicaName) {
        if let Err(error) = self.parts.driver.stop(name).await {
            tracing::warn!(replica.id = %name, %error, "a replica cannot be stopped");
        }
    }

    /// Closes the book on a replica: its hold ends when its process did.
    pub(super) async fn end(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &mut Replica,
        at: Timestamp,
        ending: Option<(FailureClass, String)>,
    ) -> Result<(), RoundError> {
        self.probes.forget(&replica.id);
        let now = (self.parts.now)();
        // Another machine's clock may tell whole seconds, and may be wrong: an end before the beginning would not count.
        let at = at.max(replica.created_at).min(now);
        let log_tail = self.parts.driver.log_tail(&name_of(replica)).await;
        if !log_tail.is_empty() {
            replica.log_tail = log_tail; // of one that is gone nobody tells: what was last heard stays
        }
        replica.ended_at = Some(at);
        let never_ready = replica.ready_at.is_none();
        let (kind, reason, message) = match ending {
            None => (EventType::ReplicaReleased, "released", String::new()),
            Some((ending, message)) => {
                (replica.failure, replica.last_error) = (Some(ending), Some(message.clone()));
                (EventType::ReplicaFailed, ending.as_str(), message)
            }
        };
        replica.transition(if replica.failure.is_some() { ReplicaState::Failed } else { ReplicaState::Released })?;
        let cards: Vec<DeviceId> = replica.gpu_ids.iter().map(|id| DeviceId::new(id)).collect();
        let not_released = self.parts.driver.not_released(&cards).await;
        let mut told = Event { reason: reason.to_owned(), ..event(endpoint, replica, kind, &message, now) };
        if !not_released.is_empty() {
            told.reason = "gpu-not-released".to_owned();
            tracing::warn!(replica.id = %replica.id, cards = ?not_released, "a process still computes on freed cards");
        }
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        holds::close(&mut tx, &replica.id, at, reason).await?;
        if replica.failure.is_some() && never_ready {
            holds::not_billed(&mut tx, &replica.id).await?;
        }
        replicas::update(&mut tx, replica).await?;
        endpoint_events::append(&mut tx, &told).await?;
        fault::point("ended-before-commit");
        tx.commit().await?;
        fault::point("ended-after-commit");
        self.parts.nudge.notify_one();
        Ok(())
    }
}

pub(super) fn name_of(replica: &Replica) -> ReplicaName {
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
