//! Starts a replica through its shim.

use super::directory::{Directory, ShimOrder, ShimPolicy};
use super::shared::Shared;
use super::{ProcessDriver, environment, log, ports, shim};
use crate::drivers::{Binding, Device, Observation, ReplicaName, ReplicaSpec, StartError};
use crate::engine::Family;
use domain::model::Modality;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;

/// The engine's own drain timeout ends this much before the shim's grace period.
const DRAIN_MARGIN: Duration = Duration::from_secs(5);
/// Timeout for a shim to start its engine.
const SHIM_START_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a failed shim's log that are shown.
const SHOWN_SHIM_LOG_BYTES: u64 = 1000;

/// The engine's own drain timeout.
pub(in crate::drivers) fn drain_of(policy: ShimPolicy) -> Duration {
    policy.grace.saturating_sub(DRAIN_MARGIN).max(Duration::from_secs(1))
}

impl ProcessDriver {
    /// Starts a replica, unless it is being started or was started before.
    pub(super) async fn start_once(&self, spec: &ReplicaSpec, binding: &Binding) -> Result<(), StartError> {
        let (replica, directory) = (&spec.replica, self.directory(&spec.replica));
        if !self.shared.launching.lock().insert(replica.clone()) {
            return Ok(());
        }
        let _launching = Launching { shared: &self.shared, replica };
        let name = replica.clone();
        let found = self.blocking(move |shared| shared.observe(&name)).await.map_err(StartError::Files)?;
        let never_started = directory.pids().is_none() && matches!(found, Observation::Lost { .. });
        if !never_started {
            return Ok(());
        }
        let key = self.shared.settings.auth.required_key(replica);
        let order = self.order_for(spec, binding, key.is_some()).await?;
        directory.write_order(&order).map_err(StartError::Files)?;
        if let Some(key) = key.as_ref().filter(|_| order.family == Family::Sglang) {
            directory.write_key(key).map_err(StartError::Files)?;
        }
        let key = key.map(|key| (order.family.key_variable(), key));
        match self.launch(replica, &directory, key).await {
            Ok(output) if output.trim() == shim::STARTED => Ok(()),
            Ok(_) => Err(StartError::Shim(log::tail(&directory.shim_log(), SHOWN_SHIM_LOG_BYTES))),
            Err(error) => Err(StartError::Shim(error.to_string())),
        }
    }

    /// The shim's order. Checks everything that can be wrong before a process is started.
    async fn order_for(&self, spec: &ReplicaSpec, binding: &Binding, has_key: bool) -> Result<ShimOrder, StartError> {
        let settings = &self.shared.settings;
        let drain = drain_of(settings.shim_policy);
        let invocation = spec.invocation(spec.weights.as_deref(), ("127.0.0.1", binding.port), drain);
        let mut argv = invocation.argv(&settings.built_in)?;
        let family = Family::of(&spec.launch);
        if family == Family::Sglang && has_key {
            let file = self.directory(&spec.replica).key_file();
            argv.extend(["--config".to_owned(), file.to_string_lossy().into_owned()]);
        }
        // vLLM checks keys under `/v1` only. Gateways that send no keys know no sockets either.
        let socket = if family == Family::Vllm && has_key { self.socket(&spec.replica)? } else { None };
        if let Some(socket) = &socket {
            argv.extend(["--uds".to_owned(), socket.to_string_lossy().into_owned()]);
        }
        let environment = self.cuda_environment(binding).await?;
        if !ports::is_unused(binding.port) {
            return Err(StartError::PortTaken(binding.port));
        }
        Ok(ShimOrder {
            argv,
            environment,
            model: spec.model.as_str().to_owned(),
            embeds: spec.modality == Modality::Embedding,
            family,
            port: binding.port,
            socket,
            devices: binding.devices.clone(),
            policy: settings.shim_policy,
        })
    }

    /// A socket for an engine that serves some routes without a key.
    fn socket(&self, replica: &ReplicaName) -> Result<Option<PathBuf>, StartError> {
        let socket = self.directory(replica).socket().map_err(StartError::Files)?;
        if socket.is_none() {
            tracing::warn!(
                replica.id = %replica,
                "the path of the data directory is too long for a socket: users of this machine can call {replica} without a key"
            );
        }
        Ok(socket)
    }

    /// Environment variables that select the bound GPUs.
    async fn cuda_environment(&self, binding: &Binding) -> Result<BTreeMap<String, String>, StartError> {
        let devices = self.devices().await;
        let bound = binding.devices.iter().map(|id| {
            let device = devices.iter().find(|device| device.id == *id);
            device.ok_or_else(|| StartError::DeviceGone(id.clone()))
        });
        Ok(environment::of_gpus(&bound.collect::<Result<Vec<&Device>, StartError>>()?))
    }

    /// Starts the shim and returns its output, which ends when the engine runs or has failed.
    async fn launch(
        &self,
        replica: &ReplicaName,
        directory: &Directory,
        key: Option<(&str, String)>,
    ) -> io::Result<String> {
        let shim = &self.shared.settings.shim;
        let environment = environment::for_replica(std::env::vars_os(), replica.as_str(), directory.path());
        let mut process = tokio::process::Command::new(&shim.program)
            .args(&shim.arguments)
            .arg("--dir")
            .arg(directory.path())
            .env_clear()
            .envs(environment)
            // In the environment, which other users cannot read, and not in the folder.
            .envs(key)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(directory.shim_log())?)
            .spawn()?;
        let mut output = String::new();
        if let Some(mut stdout) = process.stdout.take() {
            // The pipe ends when both processes of the shim have closed it.
            let reading = stdout.read_to_string(&mut output);
            tokio::time::timeout(SHIM_START_TIMEOUT, reading)
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        }
        process.wait().await?;
        Ok(output)
    }
}

/// A start in progress, until it is dropped.
struct Launching<'a> {
    shared: &'a Shared,
    replica: &'a ReplicaName,
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.shared.launching.lock().remove(self.replica);
    }
}
