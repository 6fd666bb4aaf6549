//! Checks that replicas on this machine reject calls of others.

use super::finding::Finding;
use fleet::drivers::ReplicaName;
use fleet::drivers::process::ProcessDriver;
use std::path::Path;

const CHECK: &str = "replicas";

/// Calls the replicas of this machine without their keys.
pub(super) async fn check(data_dir: &Path) -> Option<Finding> {
    judge(&ProcessDriver::unprotected(&data_dir.join("replicas")).await)
}

fn judge(unprotected: &[ReplicaName]) -> Option<Finding> {
    if unprotected.is_empty() {
        return None;
    }
    let names: Vec<&str> = unprotected.iter().map(ReplicaName::as_str).collect();
    let what = format!("other users of this machine can call {}: it serves calls without a key", names.join(", "));
    let remedy = "restart replicas that an earlier release has started (suspend and resume the endpoint); vLLM checks keys \
        under /v1 only, so it listens at a socket unless the path of the data directory is too long for one; a flavor with \
        `argv` has to check the key in FOREBAY_REPLICA_KEY";
    Some(Finding::warning(CHECK, what, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_that_anyone_can_call_are_named() {
        assert_eq!(judge(&[]), None);
        let found = judge(&[ReplicaName::parse("rep_1").unwrap(), ReplicaName::parse("rep_2").unwrap()]).unwrap();
        assert!(found.what.contains("rep_1, rep_2") && found.remedy.contains("vLLM"), "{found:?}");
    }
}
