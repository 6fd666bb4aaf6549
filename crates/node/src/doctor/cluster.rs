//! Checks the Kubernetes cluster, if one is configured.

use super::finding::Finding;
use config::Config;
use fleet::drivers::kubernetes::{ClusterInfo, InspectError, inspect};

const CHECK: &str = "cluster";

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    match &config.drivers.kubernetes {
        Some(settings) => judge(inspect(settings).await, settings.callers.is_some()),
        None => Vec::new(),
    }
}

fn judge(seen: Result<ClusterInfo, InspectError>, limits_callers: bool) -> Vec<Finding> {
    let ClusterInfo { version, namespace, unprotected, has_more_pods, pods_error, nodes_error } = match seen {
        Ok(seen) => seen,
        Err(error) => {
            let remedy = "check that the API server runs and is reachable from here, and `kubeconfig` and `context` of \
                [drivers.kubernetes]; without `kubeconfig` this must be a Pod of the cluster";
            return vec![Finding::problem(CHECK, format!("the cluster cannot be used: {error}"), remedy)];
        }
    };
    let mut findings = Vec::new();
    if let Some(why) = pods_error {
        let remedy = "give the account the rights of deploy/kubernetes/replicas/role.yaml in that namespace, or correct \
            `namespace` of [drivers.kubernetes]";
        findings.push(Finding::problem(CHECK, format!("Pods in {namespace} cannot be listed: {why}"), remedy));
    }
    if let Some(why) = nodes_error {
        let remedy = "give the account the rights of deploy/kubernetes/base/nodes-role.yaml: without them, replicas of a lost \
            node are not replaced";
        findings.push(Finding::warning(CHECK, format!("nodes cannot be listed: {why}"), remedy));
    }
    if !limits_callers {
        let remedy = "name the gateways in [drivers.kubernetes.callers]: keys of replicas guard their API, but not all routes of \
            engines";
        findings.push(Finding::warning(CHECK, "every Pod of the cluster can reach replicas", remedy));
    }
    if !unprotected.is_empty() {
        let more = if has_more_pods { "; not all Pods were tried" } else { "" };
        let what = format!("{} in {namespace} can be called without a key{more}", unprotected.join(", "));
        let remedy = "restart replicas that an earlier release has started (suspend and resume the endpoint); a flavor with \
            `argv` has to check the key in FOREBAY_REPLICA_KEY";
        findings.push(Finding::warning(CHECK, what, remedy));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, format!("Kubernetes {version} responds; Pods in {namespace} can be listed")));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn healthy() -> ClusterInfo {
        ClusterInfo {
            version: "v1.30.2".into(),
            namespace: "replicas".into(),
            unprotected: Vec::new(),
            has_more_pods: false,
            pods_error: None,
            nodes_error: None,
        }
    }

    #[test]
    fn problems_with_the_cluster_are_reported() {
        let seen = |pods_error: Option<&str>, nodes_error: Option<&str>| {
            let (pods_error, nodes_error) = (pods_error.map(ToOwned::to_owned), nodes_error.map(ToOwned::to_owned));
            Ok(ClusterInfo { pods_error, nodes_error, ..healthy() })
        };
        for (seen, expected) in [
            (seen(None, None), vec![(Level::Ok, "Kubernetes v1.30.2 responds; Pods in replicas can be listed")]),
            (seen(None, Some("forbidden")), vec![(Level::Warning, "nodes cannot be listed: forbidden")]),
            (
                seen(Some("forbidden"), Some("forbidden")),
                vec![
                    (Level::Problem, "Pods in replicas cannot be listed: forbidden"),
                    (Level::Warning, "nodes cannot be listed: forbidden"),
                ],
            ),
            (
                Err(InspectError::Server("connection refused".into())),
                vec![(
                    Level::Problem,
                    "the cluster cannot be used: the API server does not respond: connection refused",
                )],
            ),
        ] {
            let found = judge(seen, true);
            let reported: Vec<(Level, &str)> = found.iter().map(|one| (one.level, one.what.as_str())).collect();
            assert_eq!(reported, expected);
        }
        assert_eq!(judge(Ok(healthy()), false)[0].what, "every Pod of the cluster can reach replicas");
    }

    #[test]
    fn pods_that_can_be_called_without_a_key_are_named() {
        for (has_more_pods, more) in [(false, ""), (true, "; not all Pods were tried")] {
            let open = ClusterInfo { unprotected: vec!["rep-1".into(), "rep-2".into()], has_more_pods, ..healthy() };
            let found = judge(Ok(open), true);
            let reported: Vec<(Level, &str)> = found.iter().map(|one| (one.level, one.what.as_str())).collect();
            let expected = format!("rep-1, rep-2 in replicas can be called without a key{more}");
            assert_eq!(reported, [(Level::Warning, expected.as_str())]);
        }
    }
}
