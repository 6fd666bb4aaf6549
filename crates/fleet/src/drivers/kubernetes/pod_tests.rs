use super::*;
use crate::drivers::ReplicaOwner;
use crate::drivers::kubernetes::settings::{Access, Images, Quantity};
use domain::ModelId;
use domain::model::{DriverKind, Modality};
use std::time::Duration;

pub(super) fn settings() -> Settings {
    let h100 = GpuNodes {
        resource: "nvidia.com/gpu".into(),
        node_selector: [("nvidia.com/gpu.product".to_owned(), "NVIDIA-H100-80GB-HBM3".to_owned())].into(),
        tolerations: vec![Toleration::parse("nvidia.com/gpu:NoSchedule").unwrap()],
        cpu: Quantity::parse("8"),
        memory: Quantity::parse("100Gi"),
    };
    Settings {
        access: Access::ServiceAccount,
        namespace: None,
        instance: "forebay".into(),
        gpus: [("nvidia/h100-sxm-80gb".to_owned(), h100)].into(),
        images: Images { vllm: Some("vllm:1".into()), sglang: Some("sglang:1".into()), ..Images::default() },
        weights: Weights { volume: Some(Volume::Claim("models".into())), mount: "/models".into(), fetch: None },
        port: 8000,
        drain: Duration::from_secs(120),
        pre_stop: Duration::from_secs(10),
        node_lost_after: Duration::from_secs(30),
        image_pull_timeout: Duration::from_secs(300),
        environment_secret: Some("hub".into()),
        image_pull_secrets: vec!["registry".into()],
        service_account: None,
        callers: None,
        egress: None,
        run_as_user: 10_001,
        read_only_root: true,
        gpu_metrics: None,
    }
}

pub(super) fn spec(engine: EngineKind, weights: &str) -> ReplicaSpec {
    ReplicaSpec {
        replica: ReplicaName::parse("rep_01J9").unwrap(),
        model: ModelId::parse("dedicated/chat").unwrap(),
        modality: Modality::Chat,
        driver: DriverKind::Kubernetes,
        launch: Launch::Engine(engine),
        options: domain::model::EngineOptions::default(),
        image: None,
        owner: Some(ReplicaOwner { endpoint: "ep_1".into(), workspace: "ws_1".into(), generation: 7 }),
        gpu_type: "nvidia/h100-sxm-80gb".into(),
        gpu_count: 4,
        weights: Some(weights.into()),
        max_len: 8192,
        slots: 16,
    }
}

fn argv(pod: &Value) -> String {
    let words = pod["spec"]["containers"][0]["command"].as_array().unwrap();
    words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// An environment variable of the engine.
fn variable(pod: &Value, name: &str) -> Option<String> {
    let variables = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    variables.iter().find(|one| one["name"] == name).map(|one| one["value"].as_str().unwrap().to_owned())
}

#[test]
fn the_pod_has_gpus_weights_and_probes() {
    let pod = manifest(&spec(EngineKind::Vllm, "llama-70b"), RestartPolicy::Never, &settings(), None).unwrap();
    assert_eq!(pod["metadata"]["name"], "rep-01j9");
    assert_eq!(pod["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(pod["metadata"]["labels"][REPLICA_LABEL], "rep_01J9");
    assert_eq!(pod["metadata"]["labels"][ENDPOINT_LABEL], "ep_1");
    assert!(
        argv(&pod)
            .starts_with("vllm serve /models/llama-70b --served-model-name dedicated/chat --host 0.0.0.0 --port 8000")
    );
    assert!(argv(&pod).ends_with("--shutdown-timeout 120 --enable-prompt-tokens-details"));
    let (inner, container) = (&pod["spec"], &pod["spec"]["containers"][0]);
    assert_eq!(container["resources"]["limits"], json!({"nvidia.com/gpu": "4", "memory": "400Gi"}));
    assert_eq!(container["resources"]["requests"]["cpu"], "32");
    assert_eq!(container["envFrom"][0]["secretRef"]["name"], "hub");
    assert_eq!(container["startupProbe"]["httpGet"], json!({"path": "/health", "port": 8000}));
    assert_eq!(container["lifecycle"]["preStop"]["exec"]["command"], json!(["sleep", "10"]));
    assert_eq!(inner["terminationGracePeriodSeconds"], 160);
    assert_eq!(inner["restartPolicy"], "Never");
    assert_eq!(inner["automountServiceAccountToken"], false);
    let tolerated = json!([{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]);
    assert_eq!(inner["tolerations"], tolerated);
    assert_eq!(inner["nodeSelector"]["nvidia.com/gpu.product"], "NVIDIA-H100-80GB-HBM3");
    let weights = json!({"name": "weights", "mountPath": "/models", "readOnly": true});
    assert!(container["volumeMounts"].as_array().unwrap().contains(&weights));
    assert!(inner.get("initContainers").is_none());
}

#[test]
fn an_engine_in_a_pod_finds_its_key_in_its_environment() {
    let pod = |engine| {
        let spec = ReplicaSpec { image: Some("own:1".into()), ..spec(engine, "/models/x") };
        manifest(&spec, RestartPolicy::Never, &settings(), Some("k")).unwrap()
    };
    for (engine, name) in [
        (EngineKind::Vllm, "VLLM_API_KEY"),
        (EngineKind::LlamaServer, "LLAMA_API_KEY"),
        (EngineKind::ForebayEngine, "FOREBAY_ENGINE_API_KEY"),
        (EngineKind::Sglang, "FOREBAY_REPLICA_KEY"),
    ] {
        assert_eq!(variable(&pod(engine), name).as_deref(), Some("k"), "{engine}");
        let has_option = argv(&pod(engine)).ends_with(" --api-key $(FOREBAY_REPLICA_KEY)");
        assert_eq!(has_option, engine == EngineKind::Sglang, "{engine}");
    }
}

#[test]
fn the_manifest_is_a_valid_pod() {
    let pod = manifest(&spec(EngineKind::Sglang, "/models/x"), RestartPolicy::Never, &settings(), None).unwrap();
    let read: k8s_openapi::api::core::v1::Pod = serde_json::from_value(pod).unwrap();
    let container = &read.spec.unwrap().containers[0];
    let readiness = container.readiness_probe.as_ref().unwrap();
    assert_eq!(readiness.timeout_seconds, Some(25), "SGLang generates a token for its health check");
}

#[test]
fn hub_weights_are_downloaded_by_an_init_container_or_by_the_engine() {
    let mut settings = settings();
    let plain = manifest(&spec(EngineKind::Vllm, "hf://meta/llama"), RestartPolicy::Never, &settings, None).unwrap();
    assert!(argv(&plain).starts_with("vllm serve meta/llama "), "{}", argv(&plain));
    settings.weights.volume = Some(Volume::NodeFolder("/var/lib/models".into()));
    let words = ["hf", "download", "{source}", "--local-dir", "{weights}"];
    settings.weights.fetch = Some(Fetch { image: "hub:1".into(), argv: words.map(str::to_owned).into() });
    let fetched = manifest(&spec(EngineKind::Vllm, "hf://meta/llama"), RestartPolicy::Never, &settings, None).unwrap();
    assert!(argv(&fetched).starts_with("vllm serve /models/meta/llama "));
    let init = &fetched["spec"]["initContainers"][0];
    assert_eq!(init["command"], json!(["hf", "download", "meta/llama", "--local-dir", "/models/meta/llama"]));
    assert_eq!(fetched["spec"]["volumes"][3]["hostPath"]["path"], "/var/lib/models");
    let present = manifest(&spec(EngineKind::Vllm, "llama-70b"), RestartPolicy::Never, &settings, None).unwrap();
    assert!(present["spec"].get("initContainers").is_none(), "weights on the volume are not downloaded");
}

#[test]
fn llama_server_is_on_the_path_of_its_own_image_and_of_others() {
    let mut settings = settings();
    settings.images.llama_server = Some("llama.cpp:server".into());
    let pod = manifest(&spec(EngineKind::LlamaServer, "tiny.gguf"), RestartPolicy::Never, &settings, None).unwrap();
    assert!(argv(&pod).starts_with("llama-server -m /models/tiny.gguf "), "{}", argv(&pod));
    let path = variable(&pod, "PATH").unwrap();
    let folders: Vec<&str> = path.split(':').collect();
    assert!(folders.contains(&"/app") && folders.contains(&"/usr/local/bin"), "{folders:?}");
    let other = manifest(&spec(EngineKind::Vllm, "x"), RestartPolicy::Never, &settings, None).unwrap();
    assert_eq!(variable(&other, "PATH"), None, "other images set their own PATH");
}

#[test]
fn a_custom_server_has_the_image_of_its_flavor_and_is_probed_at_its_port() {
    let mut custom = spec(EngineKind::Vllm, "x");
    custom.launch = Launch::Argv(vec!["serve".into(), "--at={host}:{port}".into()]);
    assert_eq!(manifest(&custom, RestartPolicy::Never, &settings(), None), Err(PodError::NoImage));
    custom.image = Some("own:1".into());
    let pod = manifest(&custom, RestartPolicy::Always, &settings(), None).unwrap();
    assert_eq!(argv(&pod), "serve --at=0.0.0.0:8000");
    assert_eq!(pod["spec"]["containers"][0]["readinessProbe"]["tcpSocket"]["port"], 8000);
    assert_eq!((&pod["spec"]["restartPolicy"], &pod["metadata"]["finalizers"]), (&json!("Always"), &json!([])));
    custom.gpu_type = "amd/mi300x".into();
    assert_eq!(
        manifest(&custom, RestartPolicy::Never, &settings(), None),
        Err(PodError::UnknownGpuType("amd/mi300x".into()))
    );
}
