//! The life of one Pod on the node, from its placing to its end.

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
use super::probe::{Asking, Found};
use super::status::{Container, Report, State};

const LOOK: Duration = Duration::from_millis(100);
const TELL_AGAIN: Duration = Duration::from_millis(300);
/// Before a container of a Pod that is to run for ever is started again; doubled each time.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
const LONGEST_LAST_WORDS: usize = 2 << 10;

/// Runs the Pod until it is over; dropped, it ends the Pod's processes.
pub(super) async fn run(shared: Arc<Shared>, news: watch::Receiver<Option<Pod>>) {
    let Some(pod) = news.borrow().clone() else { return };
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return;
    }
    let mut life = Life::new(shared, pod, news);
    if life.fetch_images().await && life.run_init_containers().await {
        life.run_engine().await;
    }
    life.tell().await;
    life.leave().await;
}

struct Life {
    shared: Arc<Shared>,
    pod: Pod,
    news: watch::Receiver<Option<Pod>>,
    address: String,
    folder: PathBuf,
    report: Report,
    told: Option<serde_json::Value>,
}

/// How the process of the engine ended.
struct End {
    code: i32,
    reason: &'static str,
}

impl Life {
    fn new(shared: Arc<Shared>, pod: Pod, news: watch::Receiver<Option<Pod>>) -> Self {
        let waiting = |spec: &Spec| Container {
            name: spec.name.clone(),
            image: spec.image.clone().unwrap_or_default(),
            restarts: 0,
            state: State::Waiting { reason: "ContainerCreating", message: String::new() },
        };
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers).map(waiting).collect();
        let init = pod.spec.iter().flat_map(|spec| &spec.init_containers).flatten().map(waiting).collect();
        let report = Report { init, containers, phase: "Pending", address: None, ready_changed: Timestamp::now() };
        let folder = shared.scratch.path().join(pod.uid().unwrap_or_default());
        Self { shared, pod, news, address: some_address(), folder, report, told: None }
    }

    fn is_leaving(&self) -> bool {
        self.news.borrow().as_ref().is_none_or(|pod| pod.metadata.deletion_timestamp.is_some())
    }

    /// Tells what is so, if that is news. A silent node tells it when it comes back.
    async fn tell(&mut self) {
        let pods = self.shared.pods(&self.pod.namespace().unwrap_or_default());
        let patch = self.report.patch();
        if self.shared.is_silent() {
            self.told = None; // others may say something else meanwhile
        }
        while self.told.as_ref() != Some(&patch) {
            if !self.shared.is_silent() {
                let (name, params, status) = (self.pod.name_any(), PatchParams::default(), Patch::Strategic(&patch));
                match pods.patch_status(&name, &params, &status).await {
                    Ok(_) => self.told = Some(patch.clone()),
                    Err(kube::Error::Api(status)) if status.code == 404 => return,
                    Err(_) => {}
                }
            }
            if self.told.as_ref() != Some(&patch) {
                tokio::time::sleep(TELL_AGAIN).await;
            }
        }
    }

    fn state(&mut self, state: State) {
        let was_ready = self.report.is_ready();
        self.report.containers[0].state = state;
        if self.report.is_ready() != was_ready {
            self.report.ready_changed = Timestamp::now();
        }
    }

    /// Whether every image came before the Pod was to end.
    async fn fetch_images(&mut self) -> bool {
        let mut tries = 0;
        while !self.is_leaving() {
            let missing = {
                let faults = self.shared.faults();
                let mut all = self.report.init.iter_mut().chain(&mut self.report.containers);
                all.find(|one| faults.missing_images.contains(&one.image)).map(|one| {
                    let message = format!("rpc error: code = NotFound desc = failed to pull image \"{}\"", one.image);
                    let reason = if tries % 2 == 0 { "ErrImagePull" } else { "ImagePullBackOff" };
                    one.state = State::Waiting { reason, message };
                })
            };
            self.tell().await;
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

    /// The end of the log of a container that failed, if that is to be in its status.
    fn last_words(&self, spec: &Spec, code: i32) -> String {
        if code == 0 || spec.termination_message_policy.as_deref() != Some("FallbackToLogsOnError") {
            return String::new();
        }
        let log = self.shared.log_file(&self.pod.uid().unwrap_or_default(), &spec.name);
        let bytes = std::fs::read(log).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LONGEST_LAST_WORDS)..]).into_owned()
    }

    /// Whether all of them ended well.
    async fn run_init_containers(&mut self) -> bool {
        for (number, spec) in self.specs().0.iter().enumerate() {
            let since = Timestamp::now();
            let End { code, reason } = match self.start(spec) {
                Ok(child) => self.wait_for_init_container(child, number, since).await,
                Err(_) => End { code: CANNOT_RUN, reason: "Error" },
            };
            let (message, at) = (self.last_words(spec, code), Timestamp::now());
            self.report.init[number].state = State::Terminated { code, reason, message, since, at };
            // One that was to end is left in the phase Pending: kubelets did so until 1.27.
            if self.is_leaving() {
                return false;
            }
            if code != 0 {
                self.report.phase = "Failed";
                return false;
            }
            self.tell().await;
        }
        !self.is_leaving()
    }

    async fn wait_for_init_container(&mut self, mut child: Child, number: usize, since: Timestamp) -> End {
        self.report.init[number].state = State::Running { since, ready: false };
        self.tell().await;
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return ended(status);
            }
            if self.is_leaving() {
                return kill(child).await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn run_engine(&mut self) {
        let Some(spec) = self.specs().1.into_iter().next() else { return };
        let restarts = self.pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()) == Some("Always");
        let mut backoff = FIRST_BACKOFF;
        loop {
            let since = Timestamp::now();
            let end = match self.start(&spec) {
                Ok(child) => self.supervise(child, &spec, since).await,
                Err(_) => End { code: CANNOT_RUN, reason: "StartError" },
            };
            let (code, reason) = (end.code, end.reason);
            let (message, at) = (self.last_words(&spec, code), Timestamp::now());
            self.state(State::Terminated { code, reason, message, since, at });
            if !restarts || self.is_leaving() {
                self.report.phase = if code == 0 { "Succeeded" } else { "Failed" };
                return;
            }
            let message = format!("back-off {backoff:?} restarting failed container");
            self.state(State::Waiting { reason: "CrashLoopBackOff", message });
            self.report.containers[0].restarts += 1;
            self.tell().await;
            tokio::time::sleep(backoff).await;
            backoff = (backoff * 2).min(LONGEST_BACKOFF);
        }
    }

    /// Looks after the process until it has ended.
    async fn supervise(&mut self, mut child: Child, spec: &Spec, since: Timestamp) -> End {
        (self.report.phase, self.report.address) = ("Running", Some(self.address.clone()));
        self.state(State::Running { since, ready: false });
        self.tell().await;
        let mut startup = spec.startup_probe.as_ref().map(Asking::new);
        let mut readiness = spec.readiness_probe.as_ref().map(Asking::new);
        let mut liveness = spec.liveness_probe.as_ref().map(Asking::new);
        let mut is_frozen = false;
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return ended(status);
            }
            if self.shared.faults().out_of_memory.remove(&self.pod.name_any()) {
                let _ = child.kill().await;
                return End { code: 137, reason: "OOMKilled" };
            }
            let freezes = self.shared.faults().frozen.contains(&self.pod.name_any());
            if freezes != std::mem::replace(&mut is_frozen, freezes) {
                container::signal(&child, if freezes { "-STOP" } else { "-CONT" });
            }
            if self.is_leaving() {
                return self.end(child, spec, since).await;
            }
            if let Some(probe) = &mut startup {
                if probe.is_due() {
                    match probe.ask(&self.address).await {
                        Found::Well => startup = None,
                        Found::Unwell => {}
                        Found::Failed => return kill(child).await,
                    }
                }
            } else {
                if let Some(probe) = readiness.as_mut().filter(|probe| probe.is_due()) {
                    match probe.ask(&self.address).await {
                        Found::Well => self.state(State::Running { since, ready: true }),
                        Found::Unwell => {}
                        Found::Failed => self.state(State::Running { since, ready: false }),
                    }
                }
                if let Some(probe) = liveness.as_mut().filter(|probe| probe.is_due())
                    && probe.ask(&self.address).await == Found::Failed
                {
                    return kill(child).await;
                }
            }
            self.tell().await;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What its preStop says, then SIGTERM, and SIGKILL when its time is over.
    async fn end(&mut self, mut child: Child, spec: &Spec, since: Timestamp) -> End {
        let grace = self.news.borrow().as_ref().and_then(|pod| pod.metadata.deletion_grace_period_seconds);
        let deadline =
            Instant::now() + Duration::from_secs(grace.and_then(|grace| grace.try_into().ok()).unwrap_or(30));
        self.state(State::Running { since, ready: false });
        self.tell().await;
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

    /// Lets the object of a Pod go that was to end; its finalizers are others' business.
    async fn leave(mut self) {
        let gone = async {
            self.news
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
            tokio::time::sleep(TELL_AGAIN).await;
        }
        let _ = pods.delete(&self.pod.name_any(), &params).await;
    }
}

fn ended(status: ExitStatus) -> End {
    let code = container::code_of(status);
    End { code, reason: if code == 0 { "Completed" } else { "Error" } }
}

async fn kill(mut child: Child) -> End {
    let _ = child.kill().await;
    End { code: 137, reason: "Error" }
}

/// An address of this machine that most likely nobody else uses.
fn some_address() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(0).to_le_bytes();
    format!("127.{}.{}.{}", 64 + random[0] % 64, random[1], 1 + random[2] % 254)
}
