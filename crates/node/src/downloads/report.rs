//! A download as its node reports it to the others.

use domain::Timestamp;
use fleet::weights::Entry;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A download of a node's machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadReport {
    pub id: String,
    /// For `engine.weights` of a model.
    pub weights: String,
    pub repository: String,
    pub license: Option<String>,
    pub bytes: u64,
    /// Bytes that have arrived.
    pub done_bytes: u64,
    /// While bytes arrive.
    pub bytes_per_second: u64,
    /// `queued`, `downloading`, `verifying`, `done`, `failed`, `cancelled` or `missing` (its files were deleted).
    pub state: String,
    /// Why it failed.
    pub error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<&Entry> for DownloadReport {
    fn from(entry: &Entry) -> Self {
        let (record, (done_bytes, bytes_per_second)) = (entry.record(), entry.progress());
        Self {
            id: record.id().to_owned(),
            bytes: record.bytes(),
            created_at: record.created_at(),
            weights: record.weights,
            repository: record.repository,
            license: record.license,
            done_bytes,
            bytes_per_second,
            state: record.state.as_str().to_owned(),
            error: record.error,
        }
    }
}
