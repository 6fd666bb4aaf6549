//! `/api/operator/logs`: the logs of engines on the machines of all nodes, and of the cluster's Pods.

use crate::surface::console::error::{ConsoleError, ErrorBody};
use crate::surface::console::extract::query::{filter_text, flag, non_empty};
use crate::surface::console::extract::{Caller, Id, List, Operator, Params, PathParam};
use crate::surface::console::node_reports::{is_alive, living_reports};
use axum::Json;
use axum::response::{IntoResponse, Response};
use control::CommandError;
use control::engine_logs::{self, LogPart};
use control::{node_requests, nodes};
use domain::Timestamp;
use domain::ids::IdError;
use fleet::drivers::ReplicaName;
use fleet::drivers::kubernetes::PodLog;
use fleet::logs::matching_lines;
use http::{HeaderValue, header};
use node::report::LogReport;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use store::holds::HeldGpu;
use utoipa::{IntoParams, ToSchema};

const DEFAULT_BYTES: u64 = 64 << 10;
const MAX_BYTES: u64 = 4 << 20;

/// The name of a log: a replica, or an engine of a serverless model, such as `acme/tiny#1`.
pub(crate) struct LogName(String);

impl PathParam for LogName {
    const PARAM: &'static str = "replicaId";

    fn read(text: &str) -> Result<Self, IdError> {
        Ok(Self(text.to_owned()))
    }
}

/// The log of an engine.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorLog)]
pub(crate) struct LogView {
    /// The id of a replica, or the name of an engine of a serverless model, such as `acme/tiny#1`.
    replica_id: String,
    /// The node of Forebay that has it; null for a Pod, whose log every node reads.
    node: Option<String>,
    /// The node of the cluster that has it.
    cluster_node: Option<String>,
    /// The endpoint of a replica that has its GPUs now.
    endpoint_name: Option<String>,
    model: Option<String>,
    /// Without the parts that were rotated away; null for a Pod.
    bytes: Option<u64>,
    /// Null for a Pod.
    #[schema(value_type = Option<String>, format = DateTime)]
    written_at: Option<Timestamp>,
}

impl LogView {
    fn of_node(node: &str, log: LogReport, endpoints: &EndpointNames) -> Self {
        let endpoint = endpoints.get(&log.name);
        // Engines of serverless models are named after them.
        let model = log.name.split_once('#').map(|(model, _)| model.to_owned());
        Self {
            node: Some(node.to_owned()),
            cluster_node: None,
            endpoint_name: endpoint.map(|(name, _)| name.clone()),
            model: endpoint.map(|(_, model)| model.clone()).or(model),
            replica_id: log.name,
            bytes: Some(log.bytes),
            written_at: Some(log.written_at),
        }
    }

    fn of_pod(pod: PodLog, endpoints: &EndpointNames) -> Self {
        let replica_id = pod.replica.to_string();
        Self {
            node: None,
            cluster_node: pod.node,
            endpoint_name: endpoints.get(&replica_id).map(|(name, _)| name.clone()),
            model: pod.model,
            replica_id,
            bytes: None,
            written_at: None,
        }
    }
}

/// Name and model of the endpoint of each replica that has GPUs.
type EndpointNames = HashMap<String, (String, String)>;

fn endpoint_names(held: Vec<HeldGpu>) -> EndpointNames {
    held.into_iter().map(|held| (held.replica.to_string(), (held.endpoint_name, held.model.to_string()))).collect()
}

/// The logs on the machines of all living nodes, and of the cluster's Pods.
#[utoipa::path(get, path = "/api/operator/logs", tag = "operator", responses((status = 200, body = List<LogView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Result<Json<List<LogView>>, ConsoleError> {
    let parts = &caller.context.operator;
    let endpoints = endpoint_names(nodes::held_gpus(caller.store()).await?);
    let reported = living_reports(&caller).await?;
    let others = reported.into_iter().filter(|(node, _)| *node != parts.node_id);
    let here = parts.logs.list().await.into_iter().map(LogReport::from).collect();
    let mut logs = vec![(parts.node_id.clone(), here)];
    logs.extend(others.map(|(node, report)| (node, report.logs)));
    let pods = parts.cluster.iter().flat_map(|cluster| cluster.list_logs());
    let pods = pods.map(|pod| LogView::of_pod(pod, &endpoints));
    Ok(Json(List::whole(logs_of_nodes(logs, &endpoints).into_iter().chain(pods).collect())))
}

/// Gateways on one machine have the same logs of replicas: each is listed once.
fn logs_of_nodes(nodes: Vec<(String, Vec<LogReport>)>, endpoints: &EndpointNames) -> Vec<LogView> {
    let mut seen = HashSet::new();
    let mut views = Vec::new();
    for (node, logs) in nodes {
        for log in logs {
            if log.name.contains('#') || seen.insert(log.name.clone()) {
                views.push(LogView::of_node(&node, log, endpoints));
            }
        }
    }
    views
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// The node of Forebay that has the log; default: the one that responds.
    #[param(required = false, nullable = false)]
    node: Option<String>,
    /// Only lines with this text, in upper or lower case.
    #[param(required = false, nullable = false)]
    search: Option<String>,
    /// How much of the end of the log is read; default 65536, with a search 4194304.
    #[param(required = false, nullable = false, value_type = Option<u64>, minimum = 1, maximum = 4_194_304)]
    bytes: Option<String>,
    /// Whether browsers save it as a file.
    #[param(required = false, nullable = false, value_type = Option<bool>)]
    download: Option<String>,
}

/// The end of a log. One of another node is requested through the store, and takes up to some seconds.
#[utoipa::path(get, path = "/api/operator/logs/{replicaId}", tag = "operator", params(LogQuery),
    responses((status = 200, content_type = "text/plain", body = String),
        (status = 409, body = ErrorBody, description = "`content_key_missing`: the other node has another content key"),
        (status = 503, body = ErrorBody, description = "`node_unresponsive`, `store_unavailable`")))]
pub(crate) async fn show(
    Operator(caller): Operator,
    Id(LogName(name)): Id<LogName>,
    Params(query): Params<LogQuery>,
) -> Result<Response, ConsoleError> {
    let search = filter_text("search", &query.search)?.unwrap_or_default();
    let max_bytes = match non_empty(&query.bytes) {
        None if search.is_empty() => DEFAULT_BYTES,
        None => MAX_BYTES,
        Some(text) => text
            .parse()
            .ok()
            .filter(|bytes| (1..=MAX_BYTES).contains(bytes))
            .ok_or_else(|| ConsoleError::invalid("bytes", "a whole number from 1 to 4194304"))?,
    };
    let download = flag("download", &query.download)?;
    let may_be_sealed = caller.context.content_keys.is_some();
    let part = LogPart { name: name.clone(), max_bytes, search, may_be_sealed };
    let text = match filter_text("node", &query.node)? {
        Some(node) if node != caller.context.operator.node_id => read_at(&caller, &node, &part).await?,
        _ => read_here(&caller, &part).await,
    };
    let text = text.ok_or(ConsoleError::NotFound)?;
    // Engines may log prompts.
    engine_logs::record_read(caller.command(), &name).await?;
    let mut response = ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response();
    if download {
        let plain = name.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_', "-");
        let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{plain}.log\""));
        let disposition = disposition.map_err(|_| ConsoleError::INTERNAL)?;
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

/// A log of this machine, or of a Pod.
async fn read_here(caller: &Caller, part: &LogPart) -> Option<String> {
    let parts = &caller.context.operator;
    if let Some(text) = parts.logs.read(&part.name, part.max_bytes, &part.search).await {
        return Some(text);
    }
    let replica = ReplicaName::parse(&part.name).ok()?;
    let text = parts.cluster.as_ref()?.read_log(&replica, part.max_bytes).await?;
    Some(matching_lines(text, &part.search))
}

/// A log of another node's machine.
async fn read_at(caller: &Caller, node: &str, part: &LogPart) -> Result<Option<String>, ConsoleError> {
    let (found, _) = nodes::list_reported(caller.store()).await?;
    let found = found.into_iter().find(|found| found.node.id == node).ok_or(ConsoleError::NotFound)?;
    if !is_alive(found.node.seen_at, caller.now()) {
        return Err(CommandError::NodeUnresponsive { node: node.to_owned() }.into());
    }
    let text = node_requests::ask(caller.store(), node, part, caller.now()).await?;
    Ok(text.map(|text| part.open(text, caller.context.content_keys.as_ref())).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_one_machine_are_listed_once() {
        let log = |name: &str| LogReport { name: name.to_owned(), bytes: 1, written_at: Timestamp::from_millis(0) };
        let logs = || vec![log("acme/tiny#1"), log("rep_1")];
        let endpoints = HashMap::from([("rep_1".to_owned(), ("chat".to_owned(), "acme/large".to_owned()))]);
        let views = logs_of_nodes(vec![("here".to_owned(), logs()), ("there".to_owned(), logs())], &endpoints);
        let shown = views.iter().map(|view| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("{} {} {} {}", text(&view.node), view.replica_id, text(&view.endpoint_name), text(&view.model))
        });
        let expected = ["here acme/tiny#1  acme/tiny", "here rep_1 chat acme/large", "there acme/tiny#1  acme/tiny"];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }
}
