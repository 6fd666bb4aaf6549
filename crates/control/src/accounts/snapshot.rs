//! Snapshots of records for the audit log: everything that can be changed, and never a secret.

use domain::end_user::OwnEndUserLimits;
use domain::user::{Membership, Role};
use domain::{ApiKey, Invitation, Organization, ResponseRetention, Session, User, Workspace};
use serde_json::{Value, json};

pub(crate) fn organization(organization: &Organization) -> Value {
    json!({
        "name": organization.name,
        "maxWorkspaces": organization.max_workspaces,
        "monthlyTokens": organization.monthly_tokens,
        "maxStoredBytes": organization.max_stored_bytes,
        "requestsPerMinute": organization.requests_per_minute,
        "tokensPerMinute": organization.tokens_per_minute,
        "monthlyUsd": organization.monthly_usd,
        "onBudget": organization.on_budget,
    })
}

/// Limits as stored: the operator's and the administrators' values separately; `null` follows the default.
pub(crate) fn workspace(workspace: &Workspace) -> Value {
    let limits = |own: &domain::workspace::OwnLimits| {
        json!({
            "requestsPerMinute": own.requests_per_minute,
            "tokensPerMinute": own.tokens_per_minute,
            "monthlyTokens": own.monthly_tokens,
            "maxApiKeys": own.max_api_keys,
        })
    };
    json!({
        "name": workspace.name,
        "version": workspace.version,
        "operatorLimits": limits(&workspace.own),
        "adminLimits": limits(&workspace.lowered),
        "monthlyUsd": workspace.monthly_usd,
        "onBudget": workspace.on_budget,
        "endUsers": workspace.end_users,
        "responseRetentionDays": workspace.response_retention.map(ResponseRetention::days),
        "weight": workspace.weight.get(),
    })
}

pub(crate) fn end_user(own: &OwnEndUserLimits) -> Value {
    json!(own)
}

pub(crate) fn key(key: &ApiKey) -> Value {
    json!({
        "name": key.name,
        "prefix": key.masked(),
        "workspaceId": key.workspace,
        "expiresAt": key.expires_at,
        "overlapUntil": key.overlap_until,
        "revokedAt": key.revoked_at,
        "disabledAt": key.disabled_at,
        "requestsPerMinute": key.requests_per_minute,
        "tokensPerMinute": key.tokens_per_minute,
        "limits": key.limits,
        "trustsEndUser": key.trusts_end_user,
        "permissions": key.restrictions.permissions,
        "allowedModels": key.restrictions.allowed_models,
        "allowedIps": key.restrictions.allowed_ips,
        "labels": key.labels,
        "budgets": key.budgets,
    })
}

pub(crate) fn user(user: &User) -> Value {
    let memberships: Vec<Value> = user.memberships.iter().map(membership).collect();
    json!({
        "email": user.email,
        "emailProven": user.email_proven,
        "operator": user.operator,
        "memberships": memberships,
    })
}

fn membership(membership: &Membership) -> Value {
    json!({ "organizationId": membership.organization_id, "role": membership.role })
}

pub(crate) fn role(role: Role) -> Value {
    json!({ "role": role })
}

pub(crate) fn session(session: &Session) -> Value {
    json!({ "sessionId": session.id, "userAgent": session.user_agent })
}

pub(crate) fn context(session: &Session) -> Value {
    json!({ "organizationId": session.organization, "workspaceId": session.workspace })
}

pub(crate) fn invitation(invitation: &Invitation) -> Value {
    json!({
        "email": invitation.email,
        "role": invitation.role,
        "workspaceIds": invitation.workspaces,
        "expiresAt": invitation.expires_at,
    })
}
