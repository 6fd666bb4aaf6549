//! The content that organizations have in the store: their stored responses and files.

use crate::db::Tx;
use crate::error::StoreError;
use crate::row;
use domain::WorkspaceId;

/// The most bytes of stored responses, or of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxBytes {
    pub workspace: u64,
    /// The bound of both together, for an organization without one of its own. As in `total`, what other workspaces store at
    /// the same moment is not seen.
    pub organization: u64,
    /// The bound of all workspaces together.
    pub total: u64,
}

/// The bytes of the organization `o`.
macro_rules! of_organization {
    () => {
        "(SELECT CAST(COALESCE(SUM(r.bytes), 0) AS BIGINT) FROM workspaces w \
         JOIN stored_response_totals r ON r.workspace_id = w.id WHERE w.organization_id = o.id) \
         + (SELECT CAST(COALESCE(SUM(f.bytes), 0) AS BIGINT) FROM stored_file_totals f WHERE f.organization_id = o.id)"
    };
}
pub(crate) use of_organization;

/// The bound of the organization of a workspace, if `more` bytes would exceed it.
pub(crate) async fn exceeded(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    more: u64,
    default_max: u64,
) -> Result<Option<u64>, StoreError> {
    let query = sqlx::query(concat!(
        "SELECT o.max_stored_bytes, ",
        of_organization!(),
        " AS bytes FROM workspaces own JOIN organizations o ON o.id = own.organization_id WHERE own.id = $1"
    ));
    let Some(found) = tx.row(query.bind(workspace.as_str())).await? else { return Ok(None) };
    let max = row::optional_count(&found, "max_stored_bytes")?.unwrap_or(default_max);
    Ok((row::count(&found, "bytes")? + more > max).then_some(max))
}
