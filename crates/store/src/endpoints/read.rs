//! Reads an endpoint from its row.

use super::shape;
use crate::error::StoreError;
use crate::row;
use domain::endpoint::replica::Status;
use domain::endpoint::scaling::{Metric, Mode, Scaling, Target, Windows};
use domain::endpoint::state::StateReason;
use domain::endpoint::{Generation, State};
use domain::{Endpoint, EndpointId, EndpointName, ModelId, OrganizationId, WorkspaceId};
use sqlx::any::AnyRow;

/// Selects the columns of an endpoint with the counts of its replicas by state.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT e.id, e.organization_id, e.workspace_id, e.name, e.model, e.shape, e.replicas, e.min_replicas, \
             e.max_replicas, e.metric, e.target, e.to_zero_secs, e.up_secs, e.down_secs, e.state, e.state_reason, \
             e.state_message, e.state_since, e.desired, e.committed_gpus, e.last_request_at, e.labels, e.created_by, \
             e.created_at, e.updated_at, e.started_at, e.generation, \
             (SELECT COUNT(*) FROM replicas r WHERE r.endpoint_id = e.id AND r.state = 'pending') AS pending, \
             (SELECT COUNT(*) FROM replicas r WHERE r.endpoint_id = e.id AND r.state IN ('bound', 'starting')) \
             AS starting, \
             (SELECT COUNT(*) FROM replicas r WHERE r.endpoint_id = e.id AND r.state = 'ready') AS ready, \
             (SELECT COUNT(*) FROM replicas r WHERE r.endpoint_id = e.id AND r.state = 'draining') AS draining \
             FROM endpoints e ",
            $rest
        )
    };
}
pub(super) use select;

pub(super) fn endpoint(found: &AnyRow) -> Result<Endpoint, StoreError> {
    Ok(Endpoint {
        id: row::parsed(found, "id", |text| EndpointId::parse(text).ok())?,
        organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        name: row::parsed(found, "name", |text| EndpointName::parse(text).ok())?,
        model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
        shape: row::parsed(found, "shape", shape::read)?,
        scaling: scaling(found)?,
        state: row::parsed(found, "state", State::parse)?,
        reason: row::parsed(found, "state_reason", StateReason::parse)?,
        message: row::text(found, "state_message")?,
        state_since: row::moment(found, "state_since")?,
        started_at: row::moment(found, "started_at")?,
        status: Status {
            desired: row::small(found, "desired")?,
            pending: row::small(found, "pending")?,
            starting: row::small(found, "starting")?,
            ready: row::small(found, "ready")?,
            draining: row::small(found, "draining")?,
        },
        committed_gpus: row::small(found, "committed_gpus")?,
        last_request_at: row::optional_moment(found, "last_request_at")?,
        labels: row::parsed(found, "labels", |text| serde_json::from_str(text).ok())?,
        created_by: row::text(found, "created_by")?,
        created_at: row::moment(found, "created_at")?,
        updated_at: row::moment(found, "updated_at")?,
        generation: Generation(row::count(found, "generation")?),
    })
}

fn scaling(found: &AnyRow) -> Result<Scaling, StoreError> {
    let counts = (
        row::optional_small(found, "replicas")?,
        row::optional_small(found, "min_replicas")?,
        row::optional_small(found, "max_replicas")?,
    );
    let mode = match counts {
        (Some(replicas), None, None) => Mode::Fixed { replicas },
        (None, Some(min), Some(max)) => Mode::Autoscaled { min, max },
        _ => return Err(row::corrupt("replicas")),
    };
    let metric = row::parsed(found, "metric", Metric::parse)?;
    let target = Target::read(metric, row::count(found, "target")?).map_err(|_| row::corrupt("target"))?;
    let windows = Windows {
        to_zero_secs: row::small(found, "to_zero_secs")?,
        up_secs: row::small(found, "up_secs")?,
        down_secs: row::small(found, "down_secs")?,
    };
    Ok(Scaling { mode, target, windows })
}
