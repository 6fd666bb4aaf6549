//! A part of the control plane for one test: a namespace, its own nodes, and the permissions of the driver.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use test_kubelet::{Kubelet, NodeOptions};
use testkit::balancer::Balancer;

use crate::app::BINARY;
use crate::kubernetes::plant::eventually;

pub(crate) const GPU: &str = "nvidia.com/gpu";
pub(crate) const GPU_TYPE: &str = "nvidia/h100-sxm-80gb";
/// Label that selects the nodes of a test.
const LABEL: &str = "forebay.test/namespace";
const PERMISSIONS: [&str; 3] = ["base/service-account.yaml", "replicas/role.yaml", "base/nodes-role.yaml"];
const COUNT_ALL_PODS: [&str; 1] = ["components/count-all-pods/role.yaml"];

pub(crate) struct Cluster {
    pub(crate) namespace: String,
    pub(crate) nodes: Vec<Kubelet>,
    /// Proxy between the gateways and the API server.
    pub(crate) api: Balancer,
    pub(crate) pods: Api<Pod>,
    client: Client,
    folder: PathBuf,
    kubeconfig: PathBuf,
    _scratch: TempDir,
}

impl Cluster {
    /// Starts one node per number, with that many GPUs.
    pub(crate) async fn start(gpus: &[u32]) -> Self {
        let folder = PathBuf::from(std::env::var("FOREBAY_TEST_KUBERNETES").expect(
            "FOREBAY_TEST_KUBERNETES is not set: run `make test-kubernetes`, or `tests/cluster/with-kubernetes tests/cluster/test-kubernetes`",
        ));
        let client = test_kubelet::client(&folder.join("admin.kubeconfig")).await.unwrap();
        let namespace = format!("story-{:012x}", getrandom::u64().unwrap() >> 16);
        let body: Namespace = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
        Api::all(client.clone()).create(&PostParams::default(), &body).await.unwrap();
        grant_permissions(&folder, &namespace, &PERMISSIONS);
        let scratch = tempfile::tempdir().unwrap();
        let kubeconfig = scratch.path().join("kubeconfig");
        let admin = std::fs::read_to_string(folder.join("admin.kubeconfig")).unwrap();
        let server = between(&admin, "https://", "\"");
        let api = Balancer::start(vec![server.parse::<SocketAddr>().unwrap()]).await.unwrap();
        let token = token(&client, &namespace).await;
        let text = admin.replace(server, &api.address.to_string()).replace(between(&admin, "token: ", "}"), &token);
        std::fs::write(&kubeconfig, text).unwrap();
        let pods = Api::namespaced(client.clone(), &namespace);
        let mut cluster =
            Self { namespace, nodes: Vec::new(), api, pods, client, folder, kubeconfig, _scratch: scratch };
        for count in gpus {
            cluster.add_node(*count).await;
        }
        cluster
    }

    pub(crate) async fn add_node(&mut self, gpus: u32) {
        let binaries = Path::new(BINARY).parent().unwrap().to_owned();
        let options = NodeOptions {
            name: format!("{}-{}", self.namespace, self.nodes.len() + 1),
            labels: BTreeMap::from([(LABEL.to_owned(), self.namespace.clone())]),
            capacity: BTreeMap::from([(GPU.to_owned(), gpus)]),
            programs: vec![binaries],
            certificate: Some((self.folder.join("server.crt"), self.folder.join("server.key"))),
        };
        self.nodes.push(Kubelet::start(self.client.clone(), options).await.unwrap());
    }

    /// Configuration of a gateway for this cluster; `more` is added to the first table.
    pub(crate) fn configuration(&self, more: &str) -> String {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/models").canonicalize().unwrap();
        let (kubeconfig, namespace, models) = (self.kubeconfig.display(), &self.namespace, models.display());
        let mut text = format!("[drivers.kubernetes]\nkubeconfig = \"{kubeconfig}\"\nnamespace = \"{namespace}\"\n");
        write!(
            text,
            r#"pre_stop = "1s"
{more}
[drivers.kubernetes.callers]
pods = {{ "app.kubernetes.io/name" = "forebay" }}

[drivers.kubernetes.images]
forebay-engine = "forebay:test"

[drivers.kubernetes.weights]
node_folder = "{models}"

[drivers.kubernetes.gpus."{GPU_TYPE}"]
resource = "{GPU}"
node_selector = {{ "{LABEL}" = "{namespace}" }}

[allotment_defaults]
"{GPU_TYPE}" = 16
"#
        )
        .unwrap();
        text
    }

    /// Names of the Pods that are not terminating.
    pub(crate) async fn pod_names(&self) -> Vec<String> {
        let all = self.pods.list(&ListParams::default()).await.unwrap();
        let stays = all.items.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        stays.filter_map(|pod| pod.metadata.name).collect()
    }

    pub(crate) async fn node_of(&self, pod: &str) -> &Kubelet {
        let node = self.pods.get(pod).await.unwrap().spec.unwrap().node_name.unwrap();
        self.nodes.iter().find(|kubelet| kubelet.name() == node).unwrap()
    }

    /// Whether the Pod is ready according to the cluster.
    pub(crate) async fn is_ready_pod(&self, pod: &str) -> bool {
        let status = self.pods.get(pod).await.unwrap().status.unwrap_or_default();
        status.conditions.iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
    }

    pub(crate) async fn has_no_pods(&self) -> bool {
        self.pods.list(&ListParams::default()).await.unwrap().items.is_empty()
    }

    /// Grants the optional permission to list the Pods of all namespaces.
    pub(crate) fn allow_counting_all_pods(&self) {
        grant_permissions(&self.folder, &self.namespace, &COUNT_ALL_PODS);
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Removes the namespace and nodes, once no Pod is left.
    pub(crate) async fn remove(self) {
        eventually("no Pod is left", async || self.has_no_pods().await).await;
        for node in self.nodes {
            node.remove().await.unwrap();
        }
        let _ = Api::<Namespace>::all(self.client).delete(&self.namespace, &DeleteParams::default()).await;
    }
}

/// Grants exactly the permissions of `deploy/kubernetes`, in the test's namespace.
fn grant_permissions(folder: &Path, namespace: &str, manifests: &[&str]) {
    let folder_of_manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes");
    let read = |name: &str| std::fs::read_to_string(folder_of_manifests.join(name)).unwrap();
    let text = manifests.iter().map(|name| read(name)).collect::<Vec<_>>().join("\n---\n");
    let text = text.replace("namespace: forebay", &format!("namespace: {namespace}"));
    let text = text.replace("name: forebay-nodes", &format!("name: forebay-nodes-{namespace}"));
    let text = text.replace("name: forebay-all-pods", &format!("name: forebay-all-pods-{namespace}"));
    let mut kubectl = Command::new("kubectl");
    kubectl.args(["apply", "--namespace", namespace, "-f", "-"]).env("KUBECONFIG", folder.join("admin.kubeconfig"));
    let mut running = kubectl.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(running.wait().unwrap().success());
}

async fn token(client: &Client, namespace: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let spec =
        TokenRequestSpec { audiences: vec!["https://kubernetes.default.svc".into()], ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let created = accounts.create_token_request("forebay", &PostParams::default(), &request).await.unwrap();
    created.status.unwrap().token
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let start = text.find(before).unwrap() + before.len();
    &text[start..start + text[start..].find(after).unwrap()]
}
