//! Lifecycle of one Pod on the node, from placement to removal.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container as Spec, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Shared;
use super::container::{self, CANNOT_RUN, Translation};
use super::probe::{ProbeResult, ProbeState};
use super::status::{ContainerReport, ContainerState, Report};

const POLL_INTERVAL: Duration = Duration::from_millis(100);
const REPORT_RETRY: Duration = Duration::from_millis(300);
/// Backoff before a container is restarted; doubled each time.
const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
const MAX_TERMINATION_MESSAGE: usize = 2 << 10;

/// Runs the Pod until it ends. Cancelling it ends the Pod's processes.
pub(super) async fn run(shared: Arc<Shared>, updates: watch::Receiver<Option<Pod>>) {
    let Some(pod) = updates.borrow().clone() else { return };
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return;
    }
    let mut runner = PodRunner::new(shared, pod, updates);
    if runner.fetch_images().await && runner.run_init_containers().await {
        runner.run_engine().await;
    }
    runner.report_status().await;
    runner.delete_object().await;
}

struct PodRunner {
    shared: Arc<Shared>,
    pod: Pod,
    updates: watch::Receiver<Option<Pod>>,
    address: String,
    folder: PathBuf,
    report: Report,
    reported: Option<serde_json::Value>,
}

/// How a process ended.
struct ProcessEnd {
    code: i32,
    reason: &'static str,
}

impl PodRunner {
    fn new(shared: Arc<Shared>, pod: Pod, updates: watch::Receiver<Option<Pod>>) -> Self {
        let waiting = |spec: &Spec| ContainerReport {
            name: spec.name.clone(),
            image: spec.image.clone().unwrap_or_default(),
            restarts: 0,
            state: ContainerState::Waiting { reason: "ContainerCreating", message: String::new() },
        };
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers).map(waiting).collect();
        let init = pod.spec.iter().flat_map(|spec| &spec.init_containers).flatten().map(waiting).collect();
        let report = Report { init, containers, phase: "Pending", address: None, ready_changed: Timestamp::now() };
        let folder = shared.scratch.path().join(pod.uid().unwrap_or_default());
        Self { shared, pod, updates, address: random_address(), folder, report, reported: None }
    }

    fn is_deleted(&self) -> bool {
        self.updates.borrow().as_ref().is_none_or(|pod| pod.metadata.deletion_timestamp.is_some())
    }

    /// Reports the status if it has changed. A silent node reports it once it is reconnected.
    async fn report_status(&mut self) {
        let pods = self.shared.pods(&self.pod.namespace().unwrap_or_default());
        let patch = self.report.patch();
        if self.shared.is_silent() {
            self.reported = None; // others may change the status meanwhile
        }
        while self.reported.as_ref() != Some(&patch) {
            if !self.shared.is_silent() {
                let (name, params, status) = (self.pod.name_any(), PatchParams::default(), Patch::Strategic(&patch));
                match pods.patch_status(&name, &params, &status).await {
                    Ok(_) => self.reported = Some(patch.clone()),
                    Err(kube::Error::Api(status)) if status.code == 404 => return,
                    Err(_) => {}
                }
            }
            if self.reported.as_ref() != Some(&patch) {
                tokio::time::sleep(REPORT_RETRY).await;
            }
        }
    }

    fn set_state(&mut self, state: ContainerState) {
        let was_ready = self.report.is_ready();
        self.report.containers[0].state = state;
        if self.report.is_ready() != was_ready {
            self.report.ready_changed = Timestamp::now();
        }
    }

    /// Pulls all images; false if the Pod is deleted meanwhile.
    async fn fetch_images(&mut self) -> bool {
        let mut tries = 0;
        while !self.is_deleted() {
            let missing = {
                let faults = self.shared.faults();
                let mut all = self.report.init.iter_mut().chain(&mut self.report.containers);
                all.find(|one| faults.missing_images.contains(&one.image)).map(|one| {
                    let message = format!("rpc error: code = NotFound desc = failed to pull image \"{}\"", one.image);
                    let reason = if tries % 2 == 0 { "ErrImagePull" } else { "ImagePullBackOff" };
                    one.state = ContainerState::Waiting { reason, message };
                })
            };
            self.report_status().await;
            if missing.is_none() {
                return true;
            }
            tries += 1;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        false
    }

    fn specs(&self) -> (Vec<Spec>, Vec<Spec>) {
        let spec = self.pod.spec.clone().unwrap_or_default();
        (spec.init_containers.unwrap_or_default(), spec.containers)
    }

    fn start(&self, spec: &Spec) -> std::io::Result<Child> {
        let translation = Translation::of(&self.pod, spec, &self.address, &self.folder);
        let log = self.shared.log_file(&self.pod.uid().unwrap_or_default(), &spec.name);
        container::start(&self.shared, spec, &translation, &log)
    }

    /// Termination message: the end of the log of a failed container, if its policy requests that.
    fn termination_message(&self, spec: &Spec, code: i32) -> String {
        if code == 0 || spec.termination_message_policy.as_deref() != Some("FallbackToLogsOnError") {
            return String::new();
        }
        let log = self.shared.log_file(&self.pod.uid().unwrap_or_default(), &spec.name);
        let bytes = std::fs::read(log).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MAX_TERMINATION_MESSAGE)..]).into_owned()
    }

    /// Runs the init containers; false if one fails or the Pod is deleted.
    async fn run_init_containers(&mut self) -> bool {
        for (number, spec) in self.specs().0.iter().enumerate() {
            let since = Timestamp::now();
            let ProcessEnd { code, reason } = match self.start(spec) {
                Ok(child) => self.wait_for_init_container(child, number, since).await,
                Err(_) => ProcessEnd { code: CANNOT_RUN, reason: "Error" },
            };
            let (message, at) = (self.termination_message(spec, code), Timestamp::now());
            self.report.init[number].state = ContainerState::Terminated { code, reason, message, since, at };
            // A Pod that is deleted here stays in the phase Pending, like with kubelets before 1.27.
            if self.is_deleted() {
                return false;
            }
            if code != 0 {
                self.report.phase = "Failed";
                return false;
            }
            self.report_status().await;
        }
        !self.is_deleted()
    }

    async fn wait_for_init_container(&mut self, mut child: Child, number: usize, since: Timestamp) -> ProcessEnd {
        self.report.init[number].state = ContainerState::Running { since, ready: false };
        self.report_status().await;
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return ended(status);
            }
            if self.is_deleted() {
                return kill(child).await;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn run_engine(&mut self) {
        let Some(spec) = self.specs().1.into_iter().next() else { return };
        let restarts = self.pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()) == Some("Always");
        let mut backoff = MIN_BACKOFF;
        loop {
            let since = Timestamp::now();
            let end = match self.start(&spec) {
                Ok(child) => self.supervise(child, &spec, since).await,
                Err(_) => ProcessEnd { code: CANNOT_RUN, reason: "StartError" },
            };
            let (code, reason) = (end.code, end.reason);
            let (message, at) = (self.termination_message(&spec, code), Timestamp::now());
            self.set_state(ContainerState::Terminated { code, reason, message, since, at });
            if !restarts || self.is_deleted() {
                self.report.phase = if code == 0 { "Succeeded" } else { "Failed" };
                return;
            }
            let message = format!("back-off {backoff:?} restarting failed container");
            self.set_state(ContainerState::Waiting { reason: "CrashLoopBackOff", message });
            self.report.containers[0].restarts += 1;
            self.report_status().await;
            tokio::time::sleep(backoff).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    /// Supervises the process until it has ended.
    async fn supervise(&mut self, mut child: Child, spec: &Spec, since: Timestamp) -> ProcessEnd {
        (self.report.phase, self.report.address) = ("Running", Some(self.address.clone()));
        self.set_state(ContainerState::Running { since, ready: false });
        self.report_status().await;
        let mut startup = spec.startup_probe.as_ref().map(ProbeState::new);
        let mut readiness = spec.readiness_probe.as_ref().map(ProbeState::new);
        let mut liveness = spec.liveness_probe.as_ref().map(ProbeState::new);
        let mut is_frozen = false;
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return ended(status);
            }
            if self.shared.faults().out_of_memory.remove(&self.pod.name_any()) {
                let _ = child.kill().await;
                return ProcessEnd { code: 137, reason: "OOMKilled" };
            }
            let should_freeze = self.shared.faults().frozen.contains(&self.pod.name_any());
            if should_freeze != std::mem::replace(&mut is_frozen, should_freeze) {
                container::signal(&child, if should_freeze { "-STOP" } else { "-CONT" });
            }
            if self.is_deleted() {
                return self.stop(child, spec, since).await;
            }
            if let Some(probe) = &mut startup {
                if probe.is_due() {
                    match probe.run(&self.address).await {
                        ProbeResult::Success => startup = None,
                        ProbeResult::Failure => {}
                        ProbeResult::ThresholdReached => return kill(child).await,
                    }
                }
            } else {
                if let Some(probe) = readiness.as_mut().filter(|probe| probe.is_due()) {
                    match probe.run(&self.address).await {
                        ProbeResult::Success => self.set_state(ContainerState::Running { since, ready: true }),
                        ProbeResult::Failure => {}
                        ProbeResult::ThresholdReached => {
                            self.set_state(ContainerState::Running { since, ready: false });
                        }
                    }
                }
                if let Some(probe) = liveness.as_mut().filter(|probe| probe.is_due())
                    && probe.run(&self.address).await == ProbeResult::ThresholdReached
                {
                    return kill(child).await;
                }
            }
            self.report_status().await;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Runs the preStop hook, then sends SIGTERM, and SIGKILL after the grace period.
    async fn stop(&mut self, mut child: Child, spec: &Spec, since: Timestamp) -> ProcessEnd {
        let grace = self.updates.borrow().as_ref().and_then(|pod| pod.metadata.deletion_grace_period_seconds);
        let deadline =
            Instant::now() + Duration::from_secs(grace.and_then(|grace| grace.try_into().ok()).unwrap_or(30));
        self.set_state(ContainerState::Running { since, ready: false });
        self.report_status().await;
        let hook =
            spec.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.as_ref()?.exec.as_ref()?.command.clone());
        if let Some([program, arguments @ ..]) = hook.as_deref() {
            let mut running = tokio::process::Command::new(program);
            let _ = tokio::time::timeout_at(deadline, running.args(arguments).kill_on_drop(true).status()).await;
        }
        container::signal(&child, "-TERM");
        match tokio::time::timeout_at(deadline, child.wait()).await {
            Ok(Ok(status)) => ended(status),
            Ok(Err(_)) | Err(_) => kill(child).await,
        }
    }

    /// Deletes the object of a Pod that is marked for deletion; finalizers are handled by others.
    async fn delete_object(mut self) {
        let gone = async {
            self.updates
                .wait_for(|pod| pod.as_ref().is_none_or(|pod| pod.metadata.deletion_timestamp.is_some()))
                .await
                .is_err()
        };
        if gone.await {
            return;
        }
        let same = Preconditions { uid: self.pod.uid(), resource_version: None };
        let params = DeleteParams::default().grace_period(0).preconditions(same);
        let pods = self.shared.pods(&self.pod.namespace().unwrap_or_default());
        while self.shared.is_silent() {
            tokio::time::sleep(REPORT_RETRY).await;
        }
        let _ = pods.delete(&self.pod.name_any(), &params).await;
    }
}

fn ended(status: ExitStatus) -> ProcessEnd {
    let code = container::code_of(status);
    ProcessEnd { code, reason: if code == 0 { "Completed" } else { "Error" } }
}

async fn kill(mut child: Child) -> ProcessEnd {
    let _ = child.kill().await;
    ProcessEnd { code: 137, reason: "Error" }
}

/// A random loopback address, most likely unused.
fn random_address() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(0).to_le_bytes();
    format!("127.{}.{}.{}", 64 + random[0] % 64, random[1], 1 + random[2] % 254)
}
