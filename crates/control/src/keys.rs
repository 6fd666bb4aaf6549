//! Commands on API keys.

use crate::author::{Act, Author};
use crate::refusal::Refusal;
use crate::{entropy, snapshot};
use domain::key::NewKey;
use domain::workspace::{Limits, check_name};
use domain::{ApiKey, KeyId, Timestamp, Workspace, WorkspaceId};
use serde_json::Value;
use store::{Page, Store, Tx, api_keys, workspaces};

const MAX_OVERLAP_SECS: u64 = 7 * 24 * 60 * 60;

/// What the holder of a new key may choose.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    pub name: &'a str,
    pub expires_at: Option<Timestamp>,
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
}

/// A new key, and its text for the one time it is shown.
#[derive(Debug)]
pub struct Created {
    pub key: ApiKey,
    pub text: NewKey,
}

/// Creates a key unless the workspace has as many as its limit, its own or the default, allows.
pub async fn create(
    store: &Store,
    author: &Author,
    workspace: &WorkspaceId,
    wish: Wish<'_>,
    defaults: &Limits,
    now: Timestamp,
) -> Result<Created, Refusal> {
    check(&wish, now)?;
    let mut tx = store.begin().await?;
    let workspace = workspaces::lock(&mut tx, workspace).await?;
    let created = create_in(&mut tx, author, &workspace, wish, defaults, now).await?;
    tx.commit().await?;
    Ok(created)
}

pub async fn list(store: &Store, workspace: &WorkspaceId, page: Page<'_>) -> Result<Vec<ApiKey>, Refusal> {
    Ok(api_keys::list(store, workspace, page).await?)
}

pub async fn show(store: &Store, id: &KeyId) -> Result<ApiKey, Refusal> {
    api_keys::by_id(store, id).await?.ok_or_else(|| Refusal::missing("key", id.as_str()))
}

/// May be said twice; a disabled key is refused.
pub async fn revoke(
    store: &Store,
    author: &Author,
    workspace: &WorkspaceId,
    id: &KeyId,
    now: Timestamp,
) -> Result<ApiKey, Refusal> {
    let mut tx = store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    let after = api_keys::revoke(&mut tx, workspace, id, now).await?;
    finish(tx, author, "key.revoke", &before, after, now).await
}

pub async fn disable(
    store: &Store,
    author: &Author,
    workspace: &WorkspaceId,
    id: &KeyId,
    now: Timestamp,
) -> Result<ApiKey, Refusal> {
    let mut tx = store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    let after = api_keys::disable(&mut tx, workspace, id, now).await?;
    finish(tx, author, "key.disable", &before, after, now).await
}

pub async fn enable(
    store: &Store,
    author: &Author,
    workspace: &WorkspaceId,
    id: &KeyId,
    now: Timestamp,
) -> Result<ApiKey, Refusal> {
    let mut tx = store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    let after = api_keys::enable(&mut tx, workspace, id, now).await?;
    finish(tx, author, "key.enable", &before, after, now).await
}

pub async fn expire(
    store: &Store,
    author: &Author,
    workspace: &WorkspaceId,
    id: &KeyId,
    now: Timestamp,
) -> Result<ApiKey, Refusal> {
    let mut tx = store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    let after = api_keys::expire(&mut tx, workspace, id, now).await?;
    finish(tx, author, "key.expire", &before, after, now).await
}

/// Gives a key another segment and secret; id, name and limits stay. The old secret dies at once, or after the overlap.
pub async fn rotate(
    store: &Store,
    author: &Author,
    workspace: &WorkspaceId,
    id: &KeyId,
    overlap_secs: u64,
    now: Timestamp,
) -> Result<Created, Refusal> {
    if overlap_secs > MAX_OVERLAP_SECS {
        return Err(Refusal::BadValue {
            field: "overlapSeconds",
            why: "an overlap has at most 604800 seconds, 7 days",
        });
    }
    let old_dies_at = now.plus_millis(overlap_secs.cast_signed() * 1_000);
    let text = entropy::new_key();
    let mut tx = store.begin().await?;
    let before = api_keys::lock(&mut tx, workspace, id).await?;
    let fresh = (text.segment, text.hash);
    let after = api_keys::rotate(&mut tx, workspace, id, fresh, old_dies_at, now).await?;
    let key = finish(tx, author, "key.rotate", &before, after, now).await?;
    Ok(Created { key, text })
}

/// The part of [`create`] inside a transaction that holds the workspace.
pub(crate) async fn create_in(
    tx: &mut Tx,
    author: &Author,
    workspace: &Workspace,
    wish: Wish<'_>,
    defaults: &Limits,
    now: Timestamp,
) -> Result<Created, Refusal> {
    let text = entropy::new_key();
    let key = ApiKey {
        id: KeyId::new(now, entropy::for_id()),
        workspace: workspace.id.clone(),
        organization: workspace.organization.clone(),
        name: check_name(wish.name)?.to_owned(),
        segment: text.segment,
        hash: text.hash,
        dies_at: None,
        created_at: now,
        created_by: author.user().cloned(),
        expires_at: wish.expires_at,
        last_used_at: None,
        revoked_at: None,
        disabled_at: None,
        requests_per_minute: wish.requests_per_minute,
        tokens_per_minute: wish.tokens_per_minute,
    };
    api_keys::insert_within(tx, &key, workspace.limits(defaults).max_api_keys).await?;
    let act = Act {
        action: "key.create",
        organization: Some(&key.organization),
        subject: key.id.as_str(),
        before: Value::Null,
        after: snapshot::key(&key),
    };
    author.changed(tx, act, now).await?;
    Ok(Created { key, text })
}

fn check(wish: &Wish<'_>, now: Timestamp) -> Result<(), Refusal> {
    check_name(wish.name)?;
    if wish.expires_at.is_some_and(|end| end <= now) {
        return Err(Refusal::BadValue { field: "expiresAt", why: "a key expires in the future" });
    }
    let at_least_one = |field, limit: Option<u64>| match limit {
        Some(0) => Err(Refusal::BadValue { field, why: "a limit is at least 1" }),
        Some(_) | None => Ok(()),
    };
    at_least_one("requestsPerMinute", wish.requests_per_minute)?;
    at_least_one("tokensPerMinute", wish.tokens_per_minute)
}

/// What was said before and changes nothing now is not told again.
async fn finish(
    mut tx: Tx,
    author: &Author,
    action: &'static str,
    before: &ApiKey,
    after: ApiKey,
    now: Timestamp,
) -> Result<ApiKey, Refusal> {
    let (was, became) = (snapshot::key(before), snapshot::key(&after));
    if was != became {
        let act = Act {
            action,
            organization: Some(&after.organization),
            subject: after.id.as_str(),
            before: was,
            after: became,
        };
        author.changed(&mut tx, act, now).await?;
    }
    tx.commit().await?;
    Ok(after)
}
