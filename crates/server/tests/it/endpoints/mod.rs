//! `/v1/endpoints`: dedicated endpoints from outside.

mod allotments;
mod credentials;
mod errors;
mod idempotency;
mod lists;
mod records;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::{Client, Response};

use crate::app::{Setup, TestApp, text};

pub(crate) const MODEL: &str = "acme/dedicated";

/// A model offered on one to four CPU slots, whose weights do not exist.
pub(crate) fn setup(allotment: u32) -> Setup {
    let flavor = |count: u32, engine: &str| {
        format!(
            "[[models.flavors]]\nname = \"cpu-{count}x-{engine}\"\ngpu_type = \"local/cpu\"\ngpu_count = {count}\n\
             precision = \"q4\"\nengine = \"{engine}\"\nprice_per_gpu_hour = \"0.05\"\n"
        )
    };
    let flavors: String = (1..=4).map(|count| flavor(count, "forebay-engine")).collect();
    let llama = flavor(1, "llama-server");
    TestApp::setup().table(&format!(
        "[allotment_defaults]\n\"local/cpu\" = {allotment}\n\n[[models]]\nid = \"{MODEL}\"\n{flavors}{llama}"
    ))
}

/// The body of a create.
pub(crate) fn new_endpoint(name: &str, gpus: u32, scaling: Value) -> Value {
    let mut body = json!({"name": name, "model": MODEL, "flavor": format!("cpu-{gpus}x-forebay-engine")});
    let Value::Object(members) = scaling else { panic!("{scaling} is not an object") };
    body.as_object_mut().unwrap().extend(members);
    body
}

pub(crate) async fn create(client: &Client, name: &str, gpus: u32, scaling: Value) -> Response {
    client.post_json("/endpoints", new_endpoint(name, gpus, scaling)).await
}

pub(crate) async fn patch(client: &Client, name: &str, body: Value) -> Response {
    client.send_json(Method::PATCH, &format!("/endpoints/{name}"), body).await
}

/// A POST without a body.
pub(crate) async fn act(client: &Client, path: &str) -> Response {
    client.send(Method::POST, path, Bytes::new()).await
}

/// Committed GPUs by the ledger.
pub(crate) async fn committed(client: &Client) -> u64 {
    client.get("/endpoints/allotments").await.json()["data"][0]["committed"].as_u64().unwrap()
}

/// `status code` of a problem. Checks all its members, too.
pub(crate) fn problem(response: &Response) -> String {
    let body = response.json();
    assert_eq!(response.header("content-type"), Some("application/json"), "{body}");
    let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = ["type", "title", "status", "detail", "instance", "extensions"];
    expected.sort_unstable();
    let mut sorted = members.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected, "{body}");
    let code = text(&body["extensions"]["code"]);
    let slug = code.to_ascii_lowercase().replace('_', "-");
    assert!(text(&body["type"]).ends_with(&format!("/problems/{slug}")), "{body}");
    assert_eq!(body["status"], response.status.as_u16());
    let id = response.header("x-request-id").unwrap();
    assert_eq!(text(&body["instance"]), format!("/v1/endpoints/{id}"));
    assert!(!text(&body["title"]).is_empty() && !text(&body["detail"]).is_empty(), "{body}");
    format!("{} {code}", response.status.as_u16())
}

/// `status code field` of the small envelope, which has exactly two members.
pub(crate) fn fault(response: &Response) -> String {
    let body = response.json();
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(body.as_object().unwrap().len(), 2, "{body}");
    let field = text(&body["detail"]).split(':').next().unwrap();
    format!("{} {} {field}", response.status.as_u16(), text(&body["code"]))
}

/// The numbers of a `GPU_ALLOTMENT_EXCEEDED`: allotment, committed, projected, need.
pub(crate) fn exceeded(response: &Response) -> [u64; 4] {
    assert_eq!(problem(response), "409 GPU_ALLOTMENT_EXCEEDED", "{}", response.text());
    let body = response.json();
    let extensions = &body["extensions"];
    assert_eq!(extensions["gpuType"], "local/cpu");
    assert!(text(&extensions["remediation"]).ends_with("/docs/gpu-allotment"), "{body}");
    assert_eq!(extensions.as_object().unwrap().len(), 7, "{body}");
    ["allotment", "committed", "projected", "need"].map(|name| extensions[name].as_u64().unwrap())
}
