//! `/api/operator/logs`: the logs of engines on the machine of the node that responds.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::query::{filter_text, flag, non_empty};
use crate::surface::console::extract::{Id, List, Operator, Params, PathParam};
use axum::Json;
use axum::response::{IntoResponse, Response};
use domain::Timestamp;
use domain::ids::IdError;
use fleet::drivers::ReplicaName;
use fleet::drivers::process::LogFile;
use http::{HeaderValue, header};
use serde::{Deserialize, Serialize};
use std::time::UNIX_EPOCH;
use utoipa::{IntoParams, ToSchema};

const DEFAULT_BYTES: u64 = 64 << 10;
const MAX_BYTES: u64 = 4 << 20;

impl PathParam for ReplicaName {
    const PARAM: &'static str = "replicaId";

    fn read(text: &str) -> Result<Self, IdError> {
        Self::parse(text).map_err(|_| IdError { text: text.chars().take(64).collect(), prefix: "" })
    }
}

/// The log of a replica's engine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OperatorLog)]
pub(crate) struct LogView {
    replica_id: String,
    /// Without the parts that were rotated away.
    bytes: u64,
    #[schema(value_type = String, format = DateTime)]
    written_at: Timestamp,
}

impl From<LogFile> for LogView {
    fn from(log: LogFile) -> Self {
        let since_epoch = log.written_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let written_at = Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX));
        Self { replica_id: log.replica.to_string(), bytes: log.bytes, written_at }
    }
}

/// The logs on this node's machine, by replica.
#[utoipa::path(get, path = "/api/operator/logs", tag = "operator", responses((status = 200, body = List<LogView>)))]
pub(crate) async fn list(Operator(caller): Operator) -> Json<List<LogView>> {
    let found = caller.context.operator.process.list_logs().await;
    Json(List::whole(found.into_iter().map(LogView::from).collect()))
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
    Id(replica): Id<ReplicaName>,
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
    let text = caller.context.operator.process.read_log(&replica, bytes).await.ok_or(ConsoleError::NotFound)?;
    let text = match search {
        Some(search) => matching_lines(&text, &search),
        None => text,
    };
    let mut response = ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response();
    if download {
        let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{replica}.log\""));
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
