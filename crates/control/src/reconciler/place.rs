//! Gives a replica its GPUs and starts it there.

use super::picture::port_of;
use super::replica::{event, name_of};
use super::{Reconciler, RoundError};
use crate::fault;
use domain::endpoint::FailureClass;
use domain::endpoint::event::EventType;
use domain::endpoint::replica::{Replica, ReplicaState};
use domain::endpoint::state::Trigger;
use domain::model::{Launch, Serving};
use domain::{Endpoint, Timestamp};
use fleet::drivers::{Binding, DeviceId, Driver, NoRoom, Owner, ReplicaSpec, StartError, Taken};
use store::holds::{self, NewHold};
use store::{Fenced, StoreError, endpoint_events, replicas};

/// Ports that another program had are left alone for so long.
const AVOID_PORTS_MILLIS: u64 = 10 * 60_000;
const REMEMBERED_PORTS: u32 = 20;

impl<D: Driver + Clone> Reconciler<D> {
    /// Finds GPUs for a replica and starts it there.
    pub(super) async fn place(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &Replica,
        taken: &mut Taken,
    ) -> Result<(), RoundError> {
        let spec = self.spec(endpoint, replica);
        if spec.weights.is_none() && matches!(spec.launch, Launch::Engine(_)) {
            self.happen(epoch, endpoint.clone(), Trigger::NoWeights, String::new()).await?;
            return Ok(());
        }
        let mut avoided = taken.clone();
        avoided.ports.extend(self.ports_taken_by_others(endpoint).await?);
        let binding = match self.parts.driver.bind(&spec, &avoided).await {
            Ok(binding) => binding,
            Err(NoRoom::Undecided) => return Ok(()),
            Err(no_room @ (NoRoom::Devices { .. } | NoRoom::Ports | NoRoom::Unplaced(_))) => {
                self.happen(epoch, endpoint.clone(), Trigger::NoFreeGpu, no_room.to_string()).await?;
                return Ok(());
            }
        };
        taken.devices.extend(binding.devices.iter().cloned());
        taken.ports.insert(binding.port);
        let mut bound = match self.bind(epoch, endpoint, replica, &binding).await {
            Ok(bound) => bound,
            // A hold that is being closed still has it: the next round asks again.
            Err(RoundError::Store(StoreError::GpuTaken { .. })) => return Ok(()),
            Err(error) => return Err(error),
        };
        self.happen(epoch, endpoint.clone(), Trigger::GpusBound, String::new()).await?;
        self.start(epoch, endpoint, &mut bound).await
    }

    /// Ports on which a replica of the endpoint has just met another program: the next block is tried.
    async fn ports_taken_by_others(&self, endpoint: &Endpoint) -> Result<Vec<u16>, RoundError> {
        let now = (self.parts.now)();
        let newest = replicas::newest_of(&self.parts.store, &endpoint.id, REMEMBERED_PORTS).await?;
        let is_recent = |ended: Timestamp| now.millis_since(ended) < AVOID_PORTS_MILLIS;
        let met = newest
            .iter()
            .filter(|one| one.failure == Some(FailureClass::PortTaken) && one.ended_at.is_some_and(is_recent));
        Ok(met.filter_map(port_of).collect())
    }

    /// The hold is written before the process starts: whatever happens then, its time is known.
    async fn bind(
        &self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &Replica,
        binding: &Binding,
    ) -> Result<Replica, RoundError> {
        let now = (self.parts.now)();
        let started_at = binding.since.unwrap_or(now);
        let node = binding.node.as_ref().unwrap_or(&self.parts.node);
        // Elsewhere its address is known when it runs.
        let address = binding.node.is_none().then(|| format!("127.0.0.1:{}", binding.port));
        let mut bound = replica.clone();
        bound.transition(ReplicaState::Bound)?;
        (bound.node, bound.address, bound.started_at) = (Some(node.clone()), address, Some(started_at));
        bound.gpu_ids = binding.devices.iter().map(DeviceId::to_string).collect();
        let hold = NewHold {
            replica: &bound.id,
            endpoint,
            node,
            gpus: &bound.gpu_ids,
            price_per_gpu_hour: endpoint.shape.flavor.price_per_gpu_hour,
            started_at,
        };
        let mut tx = Fenced::begin(&self.parts.store, epoch).await?;
        holds::open(&mut tx, hold).await?;
        replicas::update(&mut tx, &bound).await?;
        let message = format!("{} on {node}", bound.gpu_ids.join(", "));
        endpoint_events::append(&mut tx, &event(endpoint, &bound, EventType::ReplicaBound, &message, now)).await?;
        fault::point("bound-before-commit");
        tx.commit().await?;
        fault::point("bound-after-commit");
        Ok(bound)
    }

    pub(super) async fn start(
        &mut self,
        epoch: u64,
        endpoint: &Endpoint,
        replica: &mut Replica,
    ) -> Result<(), RoundError> {
        let (spec, port) = (self.spec(endpoint, replica), port_of(replica).unwrap_or_default());
        let devices = replica.gpu_ids.iter().map(|id| DeviceId::new(id)).collect();
        match self.parts.driver.start(&spec, &Binding::here(devices, port)).await {
            Ok(()) => {
                fault::point("process-started");
                replica.transition(ReplicaState::Starting)?;
                self.write(epoch, replica).await?;
                fault::point("starting-written");
                Ok(())
            }
            Err(error) => {
                let ending = match &error {
                    StartError::Command(_) => FailureClass::EngineRejectedConfig,
                    StartError::PortTaken(_) => FailureClass::PortTaken,
                    StartError::DeviceGone(_) | StartError::PodGone => FailureClass::NodeLost,
                    StartError::Files(_) | StartError::Shim(_) => FailureClass::Crash,
                };
                let now = (self.parts.now)();
                self.end(epoch, endpoint, replica, now, Some((ending, error.to_string()))).await
            }
        }
    }

    fn spec(&self, endpoint: &Endpoint, replica: &Replica) -> ReplicaSpec {
        let catalogue = self.parts.routes.catalogue();
        let shape = endpoint.shape.in_force(&endpoint.model, &catalogue);
        let weights = catalogue.get(endpoint.model.as_str()).and_then(|model| match &model.serving {
            Serving::Engine(pool) => Some(pool.weights.clone()),
            Serving::Upstreams(_) => None,
        });
        let model = endpoint.name.model_id();
        let (modality, length) = (shape.modality, shape.context_length);
        let owner = Owner {
            endpoint: endpoint.id.to_string(),
            workspace: endpoint.workspace.to_string(),
            generation: endpoint.generation.0,
        };
        ReplicaSpec {
            driver: replica.driver,
            owner: Some(owner),
            ..ReplicaSpec::of_flavor(name_of(replica), (model, modality), &shape.flavor, length, weights.as_deref())
        }
    }
}
