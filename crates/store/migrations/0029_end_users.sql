-- Whether the calls of a key name its end users.
ALTER TABLE api_keys ADD COLUMN trusts_end_user BIGINT NOT NULL DEFAULT 0;
-- What applies to end users without limits of their own, as JSON (crates/domain/src/accounts/end_user.rs); NULL for nothing.
ALTER TABLE workspaces ADD COLUMN end_users TEXT;

-- The people behind the keys of a workspace, by the HMAC of their names.
CREATE TABLE end_users (
    -- Without a reference: events of a workspace that was deleted are still written.
    workspace_id TEXT NOT NULL,
    id TEXT NOT NULL,
    -- The name; NULL unless the workspace keeps it.
    text TEXT,
    first_seen_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    -- NULL follows the workspace.
    requests_per_minute BIGINT,
    tokens_per_minute BIGINT,
    budgets TEXT,
    PRIMARY KEY (workspace_id, id)
);

-- Daily sums of the calls that named an end user. They are in the sums of all calls, too, so those of a deleted end user stay.
CREATE TABLE usage_end_users (
    workspace_id TEXT NOT NULL,
    end_user TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    actor TEXT NOT NULL,
    requests BIGINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, end_user, starts_at, model, actor)
);
CREATE INDEX usage_end_users_by_day ON usage_end_users (workspace_id, starts_at);
