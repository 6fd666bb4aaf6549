//! `/api/operator/logs`: the logs of engines on the machine of the node that responds.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{filter_text, flag, non_empty};
use crate::surface::console::extract::{Id, List, Operator, Params, PathParam};
use axum::Json;
use axum::response::{IntoResponse, Response};
use domain::Timestamp;
use domain::ids::IdError;
use fleet::drivers::ReplicaName;
use http::{HeaderValue, header};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};
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
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorLog)]
pub(crate) struct LogView {
    /// The id of a replica, or the name of an engine of a serverless model, such as `acme/tiny#1`.
    replica_id: String,
    /// Without the parts that were rotated away.
    bytes: u64,
    #[schema(value_type = String, format = DateTime)]
    written_at: Timestamp,
}

impl LogView {
    fn new(replica_id: String, bytes: u64, written_at: SystemTime) -> Self {
        let since_epoch = written_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let written_at = Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX));
        Self { replica_id, bytes, written_at }
    }
}

/// The logs on this node's machine: of serverless engines, then of replicas.
#[utoipa::path(get, path = "/api/operator/logs", tag = "operator", responses((status = 200, body = List<LogView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Json<List<LogView>> {
    let parts = &caller.context.operator;
    let engines = parts.engine_logs.list().into_iter().map(|log| LogView::new(log.engine, log.bytes, log.written_at));
    let replicas = parts.process.list_logs().await.into_iter();
    let replicas = replicas.map(|log| LogView::new(log.replica.to_string(), log.bytes, log.written_at));
    Json(List::whole(engines.chain(replicas).collect()))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// Only lines with this text, in upper or lower case.
    #[param(required = false, nullable = false)]
    search: Option<String>,
    /// How much of the end of the log is read; default 65536.
    #[param(required = false, nullable = false, value_type = Option<u64>, minimum = 1, maximum = 4_194_304)]
    bytes: Option<String>,
    /// Whether browsers save it as a file.
    #[param(required = false, nullable = false, value_type = Option<bool>)]
    download: Option<String>,
}

/// The end of a log.
#[utoipa::path(get, path = "/api/operator/logs/{replicaId}", tag = "operator", params(LogQuery),
    responses((status = 200, content_type = "text/plain", body = String)))]
pub(crate) async fn show(
    Operator(caller): Operator,
    Id(LogName(name)): Id<LogName>,
    Params(query): Params<LogQuery>,
) -> Result<Response, ConsoleError> {
    let bytes = match non_empty(&query.bytes) {
        None => DEFAULT_BYTES,
        Some(text) => text
            .parse()
            .ok()
            .filter(|bytes| (1..=MAX_BYTES).contains(bytes))
            .ok_or_else(|| ConsoleError::invalid("bytes", "a whole number from 1 to 4194304"))?,
    };
    let download = flag("download", &query.download)?;
    let search = filter_text("search", &query.search)?;
    let parts = &caller.context.operator;
    let text = match (parts.engine_logs.read(&name, bytes), ReplicaName::parse(&name)) {
        (Some(text), _) => text,
        (None, Ok(replica)) => parts.process.read_log(&replica, bytes).await.ok_or(ConsoleError::NotFound)?,
        (None, Err(_)) => return Err(ConsoleError::NotFound),
    };
    let text = match search {
        Some(search) => matching_lines(&text, &search),
        None => text,
    };
    let mut response = ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response();
    if download {
        let plain = name.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_', "-");
        let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{plain}.log\""));
        let disposition = disposition.map_err(|_| ConsoleError::INTERNAL)?;
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

fn matching_lines(text: &str, search: &str) -> String {
    let search = search.to_lowercase();
    text.split_inclusive('\n').filter(|line| line.to_lowercase().contains(&search)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_keeps_whole_lines() {
        assert_eq!(matching_lines("One\ntwo\nphone", "ONE"), "One\nphone");
        assert_eq!(matching_lines("one\n", "x"), "");
    }
}
