//! `/api/organizations/{id}/audit` and, for the operator, `/api/audit`: the audit log.

use crate::surface::console::error::ConsoleError;
use crate::surface::console::export::{self, ExportSender};
use crate::surface::console::extract::query::{filter_text, non_empty, timestamp};
use crate::surface::console::extract::{Admin, Caller, List, Operator, PageRequest, Params};
use crate::surface_context::SurfaceContext;
use axum::Json;
use axum::response::{IntoResponse, Response};
use control::audit;
use domain::{OrganizationId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io;
use store::Store;
use store::audit::{Filter, Recorded};
use utoipa::{IntoParams, ToSchema};

/// A change: actor, action, time, address, and the record before and after.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AuditEntry)]
pub(crate) struct EntryView {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    organization_id: Option<String>,
    /// The id of a user or of a key, `forebay admin` or `first start`.
    actor: String,
    /// The actor's address, as long as it is a user.
    actor_email: Option<String>,
    /// The actor's name, as long as it is a key.
    actor_key_name: Option<String>,
    /// The address that the request came from.
    address: Option<String>,
    /// A noun and a verb, such as `key.revoke`.
    action: String,
    /// The id of what was changed.
    subject: String,
    detail: String,
    #[schema(value_type = Option<Object>)]
    before: Option<Box<RawValue>>,
    #[schema(value_type = Option<Object>)]
    after: Option<Box<RawValue>>,
}

impl From<Recorded> for EntryView {
    fn from(recorded: Recorded) -> Self {
        let raw = |text: Option<String>| text.and_then(|text| RawValue::from_string(text).ok());
        let entry = recorded.entry;
        Self {
            id: recorded.id,
            at: entry.at,
            organization_id: entry.organization.map(|id| id.to_string()),
            actor: entry.actor,
            actor_email: recorded.actor_email,
            actor_key_name: recorded.actor_key_name,
            address: entry.address,
            action: entry.action,
            subject: entry.subject,
            detail: entry.detail,
            before: raw(entry.before),
            after: raw(entry.after),
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// The id of a user or of a key, `forebay admin` or `first start`.
    #[param(required = false, nullable = false)]
    actor: Option<String>,
    /// Such as `key.revoke`.
    #[param(required = false, nullable = false)]
    action: Option<String>,
    /// The id of what was changed.
    #[param(required = false, nullable = false)]
    subject: Option<String>,
    /// From this time on.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
    /// `jsonl`: all entries, one per line, newest first.
    #[param(required = false, nullable = false, inline, value_type = Option<AuditFormat>)]
    format: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
enum AuditFormat {
    Json,
    Jsonl,
}

impl AuditFormat {
    fn parse(text: &Option<String>) -> Result<Self, ConsoleError> {
        match non_empty(text) {
            None | Some("json") => Ok(Self::Json),
            Some("jsonl") => Ok(Self::Jsonl),
            Some(_) => Err(ConsoleError::invalid("format", "a format is `json` or `jsonl`")),
        }
    }
}

fn filter(organization: Option<OrganizationId>, query: &AuditQuery) -> Result<Filter, ConsoleError> {
    Ok(Filter {
        organization,
        actor: filter_text("actor", &query.actor)?,
        action: filter_text("action", &query.action)?,
        subject: filter_text("subject", &query.subject)?,
        from: timestamp("from", &query.from)?,
        to: timestamp("to", &query.to)?,
        before_id: None,
    })
}

/// The changes in an organization, newest first.
#[utoipa::path(get, path = "/api/organizations/{organizationId}/audit", tag = "audit",
    params(AuditQuery, PageRequest),
    responses((status = 200, content((List<EntryView> = "application/json"), (String = "application/x-ndjson")))))]
pub(crate) async fn of_organization(
    Admin(member): Admin,
    page: PageRequest,
    Params(query): Params<AuditQuery>,
) -> Result<Response, ConsoleError> {
    respond(&member.caller, Some(member.organization), &query, &page).await
}

/// The changes on the whole platform, newest first.
#[utoipa::path(get, path = "/api/audit", tag = "operator", params(AuditQuery, PageRequest),
    responses((status = 200, content((List<EntryView> = "application/json"), (String = "application/x-ndjson")))))]
pub(crate) async fn of_platform(
    Operator(caller): Operator,
    page: PageRequest,
    Params(query): Params<AuditQuery>,
) -> Result<Response, ConsoleError> {
    respond(&caller, None, &query, &page).await
}

async fn respond(
    caller: &Caller,
    organization: Option<OrganizationId>,
    query: &AuditQuery,
    page: &PageRequest,
) -> Result<Response, ConsoleError> {
    let mut filter = filter(organization, query)?;
    match AuditFormat::parse(&query.format)? {
        AuditFormat::Json => {
            filter.before_id = page.cursor().map(str::to_owned);
            let found = audit::list(caller.store(), &filter, page.limit + 1).await?;
            Ok(Json(List::new(found, page, |one| one.id.clone(), EntryView::from)).into_response())
        }
        AuditFormat::Jsonl => Ok(export(&caller.context, filter)),
    }
}

/// All matching entries, one per line.
fn export(context: &SurfaceContext, filter: Filter) -> Response {
    let store = context.store.clone();
    export::response(&context.exports, "application/x-ndjson", "audit.jsonl", |sender| async move {
        send_all(&store, filter, &sender).await
    })
}

async fn send_all(store: &Store, mut filter: Filter, sender: &ExportSender) -> io::Result<()> {
    loop {
        let found = audit::list(store, &filter, export::PAGE).await;
        let found = found.map_err(io::Error::other)?;
        let is_last = found.len() < export::PAGE as usize;
        filter.before_id = found.last().map(|last| last.id.clone());
        let mut lines = Vec::new();
        for entry in found {
            serde_json::to_writer(&mut lines, &EntryView::from(entry))?;
            lines.push(b'\n');
        }
        // The client may have disconnected.
        if !sender.send(lines).await || is_last {
            return Ok(());
        }
    }
}
