//! Replicas and manifests against the Pod Security Standards.

use super::super::settings::{Fetch, Settings, Volume};
use super::tests::{settings, spec};
use super::*;
use domain::model::EngineKind;
use testkit::pod_security::{containers, violations_of_baseline, violations_of_restricted};

fn pods(settings: &Settings) -> Vec<Value> {
    let mut settings = settings.clone();
    settings.images.forebay_engine = Some("forebay:1".into());
    settings.images.llama_server = Some("llama:1".into());
    let weights = ["llama-70b", "hf://meta/llama"];
    let specs = weights.iter().flat_map(|weights| EngineKind::ALL.map(|engine| spec(engine, weights)));
    let policies = [RestartPolicy::Never, RestartPolicy::Always];
    let pods = specs
        .flat_map(|spec| policies.map(|restart| manifest(&spec, restart, &settings, None).unwrap()["spec"].clone()));
    pods.collect()
}

fn fetch() -> Fetch {
    Fetch { image: "hub:1".into(), argv: vec!["hf".into(), "download".into(), "{source}".into()] }
}

#[test]
fn pods_with_a_claim_or_without_a_volume_are_restricted() {
    let (mut none, mut fetching) = (settings(), settings());
    none.weights.volume = None;
    fetching.weights.fetch = Some(fetch());
    for settings in [settings(), none, fetching] {
        for pod in pods(&settings) {
            assert_eq!(violations_of_restricted(&pod), [""; 0], "{pod}");
            for (name, container) in containers(&pod) {
                assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true, "{name}");
            }
        }
    }
}

#[test]
fn a_node_folder_violates_one_rule_of_baseline() {
    let mut settings = settings();
    settings.weights.volume = Some(Volume::NodeFolder("/var/lib/models".into()));
    for pod in pods(&settings) {
        assert_eq!(violations_of_restricted(&pod), ["volumes[weights].hostPath"]);
    }
}

#[test]
fn root_is_allowed_in_baseline_only() {
    let settings = Settings { run_as_user: 0, read_only_root: false, ..settings() };
    for pod in pods(&settings) {
        assert_eq!(violations_of_baseline(&pod), [""; 0]);
        assert!(violations_of_restricted(&pod).contains(&"engine.runAsNonRoot".to_owned()));
    }
}

#[test]
fn only_the_container_that_downloads_can_write_the_weights() {
    let is_read_only = |pod: &Value, container: &str| {
        let container = pod["spec"][container][0].clone();
        let mounts = container["volumeMounts"].as_array().unwrap().clone();
        mounts.iter().find(|mount| mount["name"] == "weights").unwrap()["readOnly"].as_bool().unwrap()
    };
    let claim = Volume::Claim("models".into());
    let folder = Volume::NodeFolder("/var/lib/models".into());
    for (volume, downloads_itself) in [(claim, false), (folder, true)] {
        let mut settings = settings();
        settings.weights.volume = Some(volume);
        let pod = |weights: &str, settings: &Settings| {
            manifest(&spec(EngineKind::Vllm, weights), RestartPolicy::Never, settings, None).unwrap()
        };
        assert!(is_read_only(&pod("llama-70b", &settings), "containers"), "the weights are there");
        assert_eq!(is_read_only(&pod("hf://meta/llama", &settings), "containers"), !downloads_itself);
        settings.weights.fetch = Some(fetch());
        let fetched = pod("hf://meta/llama", &settings);
        assert!(is_read_only(&fetched, "containers") && !is_read_only(&fetched, "initContainers"));
    }
}

/// What engines write goes to volumes: the root of the file system is read-only.
#[test]
fn home_and_temporary_files_are_on_volumes() {
    for pod in pods(&settings()) {
        for (name, container) in containers(&pod) {
            let home = container["env"].as_array().unwrap().iter().find(|one| one["name"] == "HOME").unwrap();
            for folder in [home["value"].as_str().unwrap(), "/tmp", "/dev/shm"] {
                let mounts = container["volumeMounts"].as_array().unwrap();
                let mount = mounts.iter().find(|mount| mount["mountPath"] == folder);
                assert!(mount.is_some_and(|mount| mount["readOnly"] != true), "{name} cannot write {folder}");
            }
        }
    }
}

#[test]
fn the_gateways_are_restricted() {
    const STATEFUL_SET: &str = include_str!("../../../../../deploy/kubernetes/base/stateful-set.yaml");
    let gateway: Value = serde_saphyr::from_str(STATEFUL_SET).unwrap();
    let pod = &gateway["spec"]["template"]["spec"];
    assert_eq!(violations_of_restricted(pod), [""; 0]);
    assert_eq!(containers(pod)[0].1["securityContext"]["readOnlyRootFilesystem"], true);
}

#[test]
fn the_namespaces_enforce_what_their_pods_keep() {
    let level = |manifest: &str| {
        let namespace: Value = serde_saphyr::from_str(manifest).unwrap();
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].as_str().unwrap().to_owned()
    };
    assert_eq!(level(include_str!("../../../../../deploy/kubernetes/base/namespace.yaml")), "restricted");
    assert_eq!(level(include_str!("../../../../../deploy/kubernetes/replicas/namespace.yaml")), "restricted");
    let node_folder = include_str!("../../../../../deploy/kubernetes/overlays/node-folder/namespace.yaml");
    assert_eq!(level(node_folder), "privileged", "Kubernetes has no profile that allows one hostPath");
}
