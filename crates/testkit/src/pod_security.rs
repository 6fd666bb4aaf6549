//! The Pod Security Standards as rules over a Pod's `spec`, for tests of manifests.
//!
//! Written from the published profiles `baseline` and `restricted` of Kubernetes 1.34, for Linux Pods.

use serde_json::Value;

/// Volume types of `restricted`.
const VOLUMES: [&str; 8] =
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];

/// What keeps the Pod from being admitted under `baseline`, as the paths of the fields.
pub fn violations_of_baseline(spec: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for flag in ["hostNetwork", "hostPID", "hostIPC"] {
        note(&mut found, spec[flag] == true, flag);
    }
    for volume in list(&spec["volumes"]) {
        note(&mut found, volume.get("hostPath").is_some(), &format!("volumes[{}].hostPath", text(&volume["name"])));
    }
    for (name, container) in containers(spec) {
        let context = &container["securityContext"];
        note(&mut found, context["privileged"] == true, &format!("{name}.privileged"));
        note(&mut found, !context["procMount"].is_null(), &format!("{name}.procMount"));
        for port in list(&container["ports"]) {
            note(&mut found, port["hostPort"].as_u64().is_some_and(|port| port > 0), &format!("{name}.hostPort"));
        }
    }
    note(&mut found, !spec["securityContext"]["sysctls"].is_null(), "securityContext.sysctls");
    found
}

/// What keeps the Pod from being admitted under `restricted`.
pub fn violations_of_restricted(spec: &Value) -> Vec<String> {
    let mut found = violations_of_baseline(spec);
    for volume in list(&spec["volumes"]) {
        let is_allowed = VOLUMES.iter().any(|kind| volume.get(*kind).is_some()) || volume.get("hostPath").is_some();
        note(&mut found, !is_allowed, &format!("volumes[{}]", text(&volume["name"])));
    }
    let pod = &spec["securityContext"];
    note(&mut found, pod["runAsUser"] == 0, "securityContext.runAsUser");
    for (name, container) in containers(spec) {
        let own = &container["securityContext"];
        let in_force = |field: &str| if own[field].is_null() { pod[field].clone() } else { own[field].clone() };
        note(&mut found, own["allowPrivilegeEscalation"] != false, &format!("{name}.allowPrivilegeEscalation"));
        note(&mut found, in_force("runAsNonRoot") != true, &format!("{name}.runAsNonRoot"));
        note(&mut found, own["runAsUser"] == 0, &format!("{name}.runAsUser"));
        let seccomp = in_force("seccompProfile")["type"].clone();
        note(&mut found, seccomp != "RuntimeDefault" && seccomp != "Localhost", &format!("{name}.seccompProfile"));
        let drops_all = list(&own["capabilities"]["drop"]).iter().any(|one| one == "ALL");
        note(&mut found, !drops_all, &format!("{name}.capabilities.drop"));
        let adds = list(&own["capabilities"]["add"]).iter().any(|one| one != "NET_BIND_SERVICE");
        note(&mut found, adds, &format!("{name}.capabilities.add"));
    }
    found
}

fn note(found: &mut Vec<String>, is_violated: bool, field: &str) {
    if is_violated {
        found.push(field.to_owned());
    }
}

/// All containers of a Pod with their names.
pub fn containers(spec: &Value) -> Vec<(&str, &Value)> {
    let kinds = ["initContainers", "containers", "ephemeralContainers"];
    kinds.iter().flat_map(|kind| list(&spec[*kind])).map(|one| (text(&one["name"]), one)).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_rule_is_found_violated() {
        let bad = json!({
            "hostNetwork": true, "hostPID": true, "hostIPC": true,
            "volumes": [{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "nfs": {}}],
            "securityContext": {"runAsUser": 0, "sysctls": []},
            "initContainers": [{"name": "first", "securityContext": {
                "privileged": true, "procMount": "Unmasked", "runAsUser": 0,
                "capabilities": {"add": ["SYS_ADMIN"]}}, "ports": [{"hostPort": 80}]}],
            "containers": [],
        });
        let found = violations_of_restricted(&bad).join(" ");
        assert_eq!(
            found,
            "hostNetwork hostPID hostIPC volumes[a].hostPath first.privileged first.procMount first.hostPort \
             securityContext.sysctls volumes[b] securityContext.runAsUser first.allowPrivilegeEscalation \
             first.runAsNonRoot first.runAsUser first.seccompProfile first.capabilities.drop first.capabilities.add"
        );
        let good = json!({
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "c", "securityContext": {
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}}],
        });
        assert_eq!(violations_of_restricted(&good), [""; 0]);
    }
}
