//! More replicas where some are missing, fewer where there are too many.

use super::{Picture, Reconciler, RoundError};
use crate::{entropy, fault};
use domain::endpoint::State;
use domain::endpoint::failure::{self, Exit, Verdict};
use domain::endpoint::replica::{Candidate, Intent, Replica, ReplicaState, pick_to_drain};
use domain::endpoint::state::Trigger;
use domain::{Endpoint, ReplicaId};
use fleet::drivers::Driver;
use store::{Fenced, endpoints, holds, replicas};

/// Replicas that have ended and are looked at when the next start is decided about.
const REMEMBERED_EXITS: u32 = 20;

impl<D: Driver + Clone> Reconciler<D> {
    /// Replicas that were to go stay where they are wanted again: that saves a cold start.
    pub(super) async fn keep_the_wanted(
        &self,
        epoch: u64,
        endpoint: &Endpoint,
        own: &mut [Replica],
    ) -> Result<(), RoundError> {
        let now = (self.parts.now)();
        let running = own.iter().filter(|replica| replica.intent == Intent::Run).count();
        let missing = (endpoint.status.desired as usize).saturating_sub(running);
        for draining in own.iter_mut().filter(|replica| replica.may_stay(now)).take(missing) {
            self.keep(epoch, endpoint, draining).await?;
        }
        Ok(())
    }

    pub(super) async fn make_the_number_right(
        &self,
        epoch: u64,
        endpoint: &Endpoint,
        own: &mut Vec<Replica>,
        picture: &Picture,
    ) -> Result<(), RoundError> {
        let wanted = endpoint.status.desired as usize;
        let running = own.iter().filter(|replica| replica.intent == Intent::Run).count();
        if running > wanted {
            return self.let_go(epoch, endpoint, own, running - wanted, picture).await;
        }
        if running == wanted {
            return Ok(());
        }
        let now = (self.parts.now)();
        let any_ready = own.iter().any(|replica| replica.state() == ReplicaState::Ready);
        match failure::after_exit(&self.exits(endpoint).await?, any_ready, now) {
            Verdict::GiveUp(reason) => {
                let message = self.last_words(endpoint).await?.unwrap_or_else(|| reason.message().to_owned());
                self.happen(epoch, endpoint.clone(), Trigger::StartFailed(reason), message).await?;
            }
            Verdict::Retry { not_before } if not_before > now => {}
            Verdict::Retry { .. } => {
                for _ in running..wanted {
                    own.push(self.add(epoch, endpoint).await?);
                }
            }
        }
        Ok(())
    }

    async fn let_go(
        &self,
        epoch: u64,
        endpoint: &Endpoint,
        own: &mut [Replica],
        surplus: usize,
        picture: &Picture,
    ) -> Result<(), RoundError> {
        let now = (self.parts.now)();
        let loads = picture.loads_of(&endpoint.id);
        let candidate = |one: &Replica| Candidate {
            id: one.id.clone(),
            state: one.state(),
            ready_at: one.ready_at,
            in_flight: loads.in_flight(&one.id),
        };
        let candidates: Vec<Candidate> = own.iter().filter(|one| one.intent == Intent::Run).map(candidate).collect();
        let goes = pick_to_drain(&candidates, surplus, endpoint.scaling.windows.down_secs, now);
        let drain_secs = endpoints::drain_secs(&self.parts.store, &endpoint.id).await?.unwrap_or(0);
        for replica in own.iter_mut().filter(|replica| goes.contains(&replica.id)) {
            replica.intent = Intent::Go;
            replica.drain_until = Some(now.plus_millis(i64::from(drain_secs) * 1_000));
            if replica.state() == ReplicaState::Ready {
                replica.transition(ReplicaState::Draining)?;
            }
            let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
            replicas::update(&mut tx, replica).await?;
            if endpoint.state == State::Failed && replica.ready_at.is_none() {
                holds::not_billed(&mut tx, &replica.id).await?;
            }
            tx.commit().await?;
            fault::point("drain-begun");
        }
        Ok(())
    }

    /// The failed starts that say something about the next.
    pub(super) async fn exits(&self, endpoint: &Endpoint) -> Result<Vec<Exit>, RoundError> {
        let newest = replicas::newest_of(&self.parts.store, &endpoint.id, REMEMBERED_EXITS).await?;
        Ok(failure::recent_exits(&newest, endpoint.started_at, (self.parts.now)()))
    }

    async fn last_words(&self, endpoint: &Endpoint) -> Result<Option<String>, RoundError> {
        let newest = replicas::newest_of(&self.parts.store, &endpoint.id, REMEMBERED_EXITS).await?;
        Ok(newest.into_iter().rev().find_map(|replica| replica.last_error))
    }

    async fn add(&self, epoch: u64, endpoint: &Endpoint) -> Result<Replica, RoundError> {
        let now = (self.parts.now)();
        let shape = endpoint.shape.in_force(&endpoint.model, &self.parts.routes.catalogue()).into_owned();
        let mut new = Replica::new(ReplicaId::new(now, entropy::for_id()), endpoint.id.clone(), now);
        new.driver = shape.flavor.driver;
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        replicas::insert(&mut tx, &new).await?;
        tx.commit().await?;
        fault::point("replica-added");
        Ok(new)
    }
}
