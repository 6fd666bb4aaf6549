//! Pod status as reported to the API server.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// ContainerState of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContainerState {
    Waiting { reason: &'static str, message: String },
    Running { since: Timestamp, ready: bool },
    Terminated { code: i32, reason: &'static str, message: String, since: Timestamp, at: Timestamp },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContainerReport {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) restarts: u32,
    pub(super) state: ContainerState,
}

/// Status of a Pod.
#[derive(Debug, Clone)]
pub(super) struct Report {
    pub(super) init: Vec<ContainerReport>,
    pub(super) containers: Vec<ContainerReport>,
    pub(super) phase: &'static str,
    pub(super) address: Option<String>,
    /// When `Ready` last changed.
    pub(super) ready_changed: Timestamp,
}

impl Report {
    pub(super) fn is_ready(&self) -> bool {
        self.phase == "Running"
            && self.containers.iter().all(|one| matches!(one.state, ContainerState::Running { ready: true, .. }))
    }

    pub(super) fn patch(&self) -> Value {
        let ready = if self.is_ready() { "True" } else { "False" };
        let condition = |kind: &str| json!({ "type": kind, "status": ready, "lastTransitionTime": self.ready_changed });
        let mut status = json!({
            "phase": self.phase,
            "conditions": [condition("Ready"), condition("ContainersReady")],
            "containerStatuses": self.containers.iter().map(container).collect::<Vec<_>>(),
            "initContainerStatuses": self.init.iter().map(container).collect::<Vec<_>>(),
        });
        if let Some(address) = &self.address {
            status["podIP"] = json!(address);
            status["podIPs"] = json!([{ "ip": address }]);
        }
        json!({ "status": status })
    }
}

fn container(container: &ContainerReport) -> Value {
    let (state, ready) = match &container.state {
        ContainerState::Waiting { reason, message } => {
            (json!({"waiting": {"reason": reason, "message": message}}), false)
        }
        ContainerState::Running { since, ready } => (json!({"running": {"startedAt": since}}), *ready),
        ContainerState::Terminated { code, reason, message, since, at } => {
            let end =
                json!({"exitCode": code, "reason": reason, "message": message, "startedAt": since, "finishedAt": at});
            (json!({ "terminated": end }), false)
        }
    };
    json!({
        "name": container.name, "image": container.image, "imageID": "", "restartCount": container.restarts,
        "ready": ready, "started": ready, "state": state,
    })
}
