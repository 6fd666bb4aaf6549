//! Finds GPUs for a replica and starts it there.

use super::Round;
use super::replica::{event, name_of};
use crate::fault;
use crate::reconciler::RoundError;
use crate::reconciler::rows::Rows;
use crate::reconciler::snapshot::port_of;
use domain::Endpoint;
use domain::endpoint::event::EventType;
use domain::endpoint::failure::FailureClass;
use domain::endpoint::replica::{Replica, ReplicaState};
use domain::endpoint::state::Trigger;
use domain::model::{Launch, Serving};
use fleet::drivers::{Binding, DeviceId, Driver, PlacementError, ReplicaOwner, ReplicaSpec, StartError};
use store::holds::NewHold;
use store::{LeaderWrite, StoreError};

impl<D: Driver + Clone, S: Rows> Round<'_, D, S> {
    /// Binds a pending replica to GPUs and starts it. Without weights or free GPUs the endpoint waits for them.
    pub(super) async fn place(
        &mut self,
        endpoint: &mut Endpoint,
        replica: &mut Replica,
        foreign_ports: &[u16],
    ) -> Result<(), RoundError> {
        let spec = self.spec(endpoint, replica);
        if spec.weights.is_none() && matches!(spec.launch, Launch::Engine(_)) {
            return self.note(endpoint, Trigger::NoWeights, String::new()).await;
        }
        let mut taken = self.taken.clone();
        taken.ports.extend(foreign_ports);
        let binding = match self.parts.driver.bind(&spec, &taken).await {
            Ok(binding) => binding,
            Err(PlacementError::Undecided) => return Ok(()),
            Err(
                error @ (PlacementError::Devices { .. } | PlacementError::Ports | PlacementError::Unschedulable(_)),
            ) => {
                return self.note(endpoint, Trigger::NoFreeGpu, error.to_string()).await;
            }
        };
        self.taken.devices.extend(binding.devices.iter().cloned());
        self.taken.ports.insert(binding.port);
        match self.bind(endpoint, replica, &binding).await {
            Ok(()) => {}
            // The GPU's previous hold is not closed yet: the next round tries again.
            Err(RoundError::Store(StoreError::GpuTaken { .. })) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.note(endpoint, Trigger::GpusBound, String::new()).await?;
        self.start(endpoint, replica).await
    }

    /// Applies a trigger that never deletes the endpoint.
    async fn note(&self, endpoint: &mut Endpoint, trigger: Trigger, message: String) -> Result<(), RoundError> {
        if let Some(changed) = self.apply(endpoint.clone(), trigger, message).await? {
            *endpoint = changed;
        }
        Ok(())
    }

    /// Opens the hold before the process starts, so that its time is accounted for whatever happens.
    async fn bind(&self, endpoint: &Endpoint, replica: &mut Replica, binding: &Binding) -> Result<(), RoundError> {
        // The cluster's clock may be wrong; a hold begins neither before its replica was created nor in the future.
        let started_at = binding.since.map_or(self.now, |since| since.max(replica.created_at).min(self.now));
        let node = binding.node.as_ref().unwrap_or(&self.parts.node);
        let mut bound = replica.clone();
        bound.transition(ReplicaState::Bound)?;
        (bound.node, bound.started_at) = (Some(node.clone()), Some(started_at));
        // On another node the address is known once the replica runs.
        bound.address = binding.node.is_none().then(|| format!("127.0.0.1:{}", binding.port));
        bound.gpu_ids = binding.devices.iter().map(DeviceId::to_string).collect();
        let hold = NewHold {
            replica: &bound.id,
            endpoint,
            node,
            gpus: &bound.gpu_ids,
            price_per_gpu_hour: endpoint.shape.flavor.price_per_gpu_hour,
            started_at,
        };
        let message = format!("{} on {node}", bound.gpu_ids.join(", "));
        let event = event(endpoint, &bound, EventType::ReplicaBound, &message, self.now);
        fault::point("bound-before-commit");
        let [claim, row, event] =
            [LeaderWrite::OpenHold(hold), LeaderWrite::Replica(&bound), LeaderWrite::Event(&event)];
        self.commit(&[LeaderWrite::Unchanged(endpoint), claim, row, event]).await?;
        fault::point("bound-after-commit");
        *replica = bound;
        Ok(())
    }

    pub(super) async fn start(&mut self, endpoint: &Endpoint, replica: &mut Replica) -> Result<(), RoundError> {
        let (spec, port) = (self.spec(endpoint, replica), port_of(replica).unwrap_or_default());
        let devices = replica.gpu_ids.iter().map(|id| DeviceId::new(id)).collect();
        self.still_leads()?;
        match self.parts.driver.start(&spec, &Binding::here(devices, port)).await {
            Ok(()) => {
                fault::point("process-started");
                replica.transition(ReplicaState::Starting)?;
                self.write(replica).await?;
                fault::point("starting-written");
                Ok(())
            }
            Err(error) => {
                let class = match &error {
                    StartError::Command(_) => FailureClass::EngineRejectedConfig,
                    StartError::PortTaken(_) => FailureClass::PortTaken,
                    StartError::DeviceGone(_) | StartError::PodGone => FailureClass::NodeLost,
                    StartError::Files(_) | StartError::Shim(_) => FailureClass::Crash,
                };
                self.end(endpoint, replica, self.now, Some((class, error.to_string()))).await
            }
        }
    }

    fn spec(&self, endpoint: &Endpoint, replica: &Replica) -> ReplicaSpec {
        let catalogue = self.parts.routes.catalogue();
        let shape = endpoint.shape.effective(&endpoint.model, &catalogue);
        let weights = catalogue.get(endpoint.model.as_str()).and_then(|model| match &model.serving {
            Serving::Engine(pool) => Some(pool.weights.clone()),
            Serving::Upstreams(_) => None,
        });
        let model = endpoint.name.model_id();
        let (modality, length) = (shape.modality, shape.context_length);
        let owner = ReplicaOwner {
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
