//! Does the next thing for one replica.

use super::step::{Step, decide};
use super::{Reconciler, port_of, sighting};
use crate::endpoints::new_event;
use domain::endpoint::event::{Actor, Event, EventType};
use domain::endpoint::failure::Ending;
use domain::endpoint::replica::{Replica, ReplicaState, Wish};
use domain::endpoint::state::Trigger;
use domain::model::{ModelId, Serving};
use domain::{Endpoint, ReplicaId, Timestamp};
use fleet::drivers::process::{PROBE_PERIOD, Streak, Verdict};
use fleet::drivers::{Binding, DeviceId, Driver, NoRoom, Observed, Probe, ReplicaName, ReplicaSpec, StartError, Taken};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use store::holds::{self, NewHold};
use store::{Fenced, StoreError, endpoint_events, replicas};
use tokio::task::JoinSet;

/// How often a replica that starts is asked whether it is ready.
const ASK_STARTING: Duration = Duration::from_millis(500);
/// How often the store is told that a replica is still there.
const TELL_SEEN: Duration = Duration::from_secs(15);
/// Gateways need a moment to see that a replica gets no new calls.
const LEAST_DRAIN_MILLIS: u64 = 2_000;

/// Questions to replicas that are under way, and what was last heard.
#[derive(Default)]
pub(super) struct Probes {
    known: HashMap<ReplicaId, Known>,
    asking: JoinSet<(ReplicaId, Probe)>,
}

#[derive(Default)]
struct Known {
    asked_at: Option<Instant>,
    asking: bool,
    heard: Option<Probe>,
    streak: Streak,
    told_at: Option<Instant>,
}

impl Probes {
    fn collect(&mut self) {
        while let Some(Ok((id, probe))) = self.asking.try_join_next() {
            if let Some(known) = self.known.get_mut(&id) {
                (known.asking, known.heard) = (false, Some(probe));
            }
        }
    }
}

impl<D: Driver + Clone> Reconciler<D> {
    /// Looks at a replica and does what follows.
    pub(super) async fn follow(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &mut Replica,
        seen: &[Observed],
    ) -> Result<(), StoreError> {
        if replica.node.as_deref().is_some_and(|node| node != self.parts.node) {
            return Ok(()); // another node's processes are not seen from here
        }
        let observed = sighting(replica, seen);
        let step = decide(replica, observed.map(|observed| &observed.sighting), (self.parts.now)());
        let name = name_of(replica);
        match step {
            Step::Wait => Ok(()),
            Step::Start => self.start(epoch, endpoint, replica).await,
            Step::Ask => self.ask(epoch, endpoint, replica, &name).await,
            Step::Drain => self.drain(endpoint, replica, &name).await,
            Step::Stop => {
                self.stop(&name).await;
                Ok(())
            }
            Step::Over { at, ending } => self.end(epoch, endpoint, replica, at, ending).await,
        }
    }

    /// Finds GPUs for a replica and starts it there.
    pub(super) async fn place(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &Replica,
        taken: &mut Taken,
    ) -> Result<(), StoreError> {
        let spec = self.spec(endpoint, replica);
        if spec.weights.is_none() && matches!(spec.launch, domain::model::Launch::Engine(_)) {
            self.happen(epoch, endpoint.clone(), Trigger::NoWeights, String::new()).await?;
            return Ok(());
        }
        let binding = match self.parts.driver.bind(&spec, taken).await {
            Ok(binding) => binding,
            Err(NoRoom::Undecided) => return Ok(()),
            Err(no_room @ (NoRoom::Devices { .. } | NoRoom::Ports | NoRoom::Unplaced(_))) => {
                self.happen(epoch, endpoint.clone(), Trigger::NoFreeGpu, no_room.to_string()).await?;
                return Ok(());
            }
        };
        let now = (self.parts.now)();
        let mut bound = Replica {
            state: ReplicaState::Bound,
            node: Some(self.parts.node.clone()),
            address: Some(format!("127.0.0.1:{}", binding.port)),
            gpu_ids: binding.devices.iter().map(DeviceId::to_string).collect(),
            started_at: Some(now),
            ..replica.clone()
        };
        // The hold is written before the process starts: whatever happens then, its time is known.
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        let price = endpoint.shape.flavor.price_per_gpu_hour;
        let hold = NewHold {
            replica: &bound.id,
            endpoint,
            node: &self.parts.node,
            gpus: &bound.gpu_ids,
            price_per_gpu_hour: price,
            started_at: now,
        };
        holds::open(&mut tx, hold).await?;
        replicas::update(&mut tx, &bound).await?;
        let message = format!("{} on {}", bound.gpu_ids.join(", "), self.parts.node);
        endpoint_events::append(&mut tx, &event(endpoint, &bound, EventType::ReplicaBound, message, now)).await?;
        tx.commit().await?;
        taken.devices.extend(binding.devices.iter().cloned());
        taken.ports.insert(binding.port);
        self.happen(epoch, endpoint.clone(), Trigger::GpusBound, String::new()).await?;
        self.start(epoch, endpoint, &mut bound).await
    }

    async fn start(&mut self, epoch: u64, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), StoreError> {
        let (spec, Some(port)) = (self.spec(endpoint, replica), port_of(replica)) else { return Ok(()) };
        let devices = replica.gpu_ids.iter().map(|id| DeviceId::new(id)).collect();
        match self.parts.driver.start(&spec, &Binding::here(devices, port)).await {
            Ok(()) => {
                replica.state = ReplicaState::Starting;
                self.write(epoch, replica).await
            }
            Err(error) => {
                let ending = match &error {
                    StartError::Command(_) => Ending::EngineRejectedConfig,
                    StartError::PortTaken(_) | StartError::DeviceGone(_) | StartError::PodGone => Ending::NodeLost,
                    StartError::Files(_) | StartError::Shim(_) => Ending::Crash,
                };
                let now = (self.parts.now)();
                self.end(epoch, endpoint, replica, now, Some((ending, error.to_string()))).await
            }
        }
    }

    /// Asks a running replica how it is, without waiting for the answer: a later round hears it.
    async fn ask(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &mut Replica,
        name: &ReplicaName,
    ) -> Result<(), StoreError> {
        self.probes.collect();
        let known = self.probes.known.entry(replica.id.clone()).or_default();
        let is_ready = replica.state == ReplicaState::Ready;
        let heard = known.heard.take();
        let period = if is_ready { PROBE_PERIOD } else { ASK_STARTING };
        if !known.asking && known.asked_at.is_none_or(|at| at.elapsed() >= period) {
            (known.asking, known.asked_at) = (true, Some(Instant::now()));
            let (driver, id, name) = (self.parts.driver.clone(), replica.id.clone(), name.clone());
            self.probes.asking.spawn(async move {
                let probe = if is_ready { driver.probe(&name).await } else { driver.probe_start(&name).await };
                (id, probe)
            });
        }
        let tell = known.told_at.is_none_or(|at| at.elapsed() >= TELL_SEEN);
        if tell {
            known.told_at = Some(Instant::now());
        }
        let verdict = heard.as_ref().map(|probe| if is_ready { known.streak.note(probe) } else { first(probe) });
        if tell {
            let mut tx = self.parts.store.begin().await?;
            holds::seen(&mut tx, &replica.id, (self.parts.now)()).await?;
            tx.commit().await?;
        }
        match verdict {
            Some(Verdict::Ready) if !is_ready => self.ready(epoch, endpoint, replica).await,
            Some(Verdict::NotReady) if is_ready => {
                replica.state = ReplicaState::Starting;
                self.write(epoch, replica).await
            }
            Some(Verdict::Restart) => {
                self.stop(name).await;
                Ok(())
            }
            None | Some(Verdict::Ready | Verdict::NotReady) => Ok(()),
        }
    }

    async fn ready(&mut self, epoch: u64, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), StoreError> {
        let now = (self.parts.now)();
        replica.state = ReplicaState::Ready;
        replica.ready_at.get_or_insert(now);
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        replicas::update(&mut tx, replica).await?;
        endpoint_events::append(&mut tx, &event(endpoint, replica, EventType::ReplicaReady, String::new(), now))
            .await?;
        tx.commit().await
    }

    /// Lets a replica finish its calls, and stops it when they are done or its time is up.
    async fn drain(&self, endpoint: &Endpoint, replica: &Replica, name: &ReplicaName) -> Result<(), StoreError> {
        let now = (self.parts.now)();
        let is_late = replica.drain_until.is_none_or(|until| now >= until);
        let is_done = match self.parts.driver.drain(name).await {
            Ok(draining) => {
                let here = || self.parts.endpoints.get(&endpoint.organization, endpoint.name.as_str());
                let is_quiet = match draining.in_flight {
                    Some(count) => count == 0,
                    None => here().is_none_or(|endpoint| endpoint.in_flight() == 0),
                };
                is_quiet && now.millis_since(draining.since) >= LEAST_DRAIN_MILLIS
            }
            Err(error) => {
                tracing::warn!(replica.id = %replica.id, %error, "a replica cannot be drained");
                false
            }
        };
        if is_done || is_late {
            self.stop(name).await;
        }
        Ok(())
    }

    /// A replica that was to go may stay after all: that saves a cold start.
    pub(super) async fn keep(&self, epoch: u64, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), StoreError> {
        if let Err(error) = self.parts.driver.undrain(&name_of(replica)).await {
            tracing::warn!(replica.id = %replica.id, endpoint.name = %endpoint.name, %error, "a replica cannot be kept");
        }
        (replica.wish, replica.state, replica.drain_until) = (Wish::Run, ReplicaState::Ready, None);
        self.write(epoch, replica).await
    }

    async fn stop(&self, name: &ReplicaName) {
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
        ending: Option<(Ending, String)>,
    ) -> Result<(), StoreError> {
        self.probes.known.remove(&replica.id);
        let now = (self.parts.now)();
        replica.log_tail = self.parts.driver.log_tail(&name_of(replica)).await;
        replica.ended_at = Some(at);
        let never_ready = replica.ready_at.is_none();
        let (kind, reason, message) = match ending {
            None => (EventType::ReplicaReleased, "released", String::new()),
            Some((ending, message)) => {
                (replica.ending, replica.last_error) = (Some(ending), Some(message.clone()));
                (EventType::ReplicaFailed, ending.as_str(), message)
            }
        };
        replica.state = if replica.ending.is_some() { ReplicaState::Failed } else { ReplicaState::Released };
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        holds::close(&mut tx, &replica.id, at, reason).await?;
        if replica.ending.is_some() && never_ready {
            holds::not_billed(&mut tx, &replica.id).await?;
        }
        replicas::update(&mut tx, replica).await?;
        endpoint_events::append(&mut tx, &event(endpoint, replica, kind, message, now)).await?;
        tx.commit().await?;
        self.parts.nudge.notify_one();
        Ok(())
    }

    fn spec(&self, endpoint: &Endpoint, replica: &Replica) -> ReplicaSpec {
        let catalogue = self.parts.routes.catalogue();
        let shape = endpoint.shape.in_force(&endpoint.model, &catalogue);
        let weights = catalogue.get(endpoint.model.as_str()).and_then(|model| match &model.serving {
            Serving::Engine(pool) => Some(pool.weights.clone()),
            Serving::Upstreams(_) => None,
        });
        let model = ModelId::parse(&endpoint.name.model_id()).expect("names of endpoints are parts of Model IDs");
        let (modality, length) = (shape.modality, shape.context_length);
        ReplicaSpec::of_flavor(name_of(replica), (model, modality), &shape.flavor, length, weights.as_deref())
    }
}

fn first(probe: &Probe) -> Verdict {
    match probe {
        Probe::Well => Verdict::Ready,
        Probe::Unwell(_) => Verdict::NotReady,
    }
}

fn name_of(replica: &Replica) -> ReplicaName {
    ReplicaName::parse(replica.id.as_str()).expect("ids are made of letters and digits")
}

fn event(endpoint: &Endpoint, replica: &Replica, kind: EventType, message: String, now: Timestamp) -> Event {
    let actor = Actor::system("reconciler");
    Event { replica: Some(replica.id.clone()), message, ..new_event(&endpoint.id, kind, actor, now) }
}
