-- One text for SQLite and PostgreSQL: ids and hashes are TEXT, times are milliseconds since 1970, money is nano-dollars,
-- booleans are 0 or 1. Rows that outlive the records they name (usage, audit) have ids without foreign keys.

CREATE TABLE organizations (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    requests_per_minute BIGINT,
    tokens_per_minute BIGINT,
    monthly_tokens BIGINT,
    max_api_keys BIGINT,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX workspaces_by_organization ON workspaces (organization_id, id);

CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    operator BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE organization_members (
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX organization_members_by_user ON organization_members (user_id);

CREATE TABLE workspace_members (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_members_by_user ON workspace_members (user_id);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT,
    expires_at BIGINT,
    last_used_at BIGINT,
    revoked_at BIGINT,
    disabled_at BIGINT,
    requests_per_minute BIGINT,
    tokens_per_minute BIGINT
);
CREATE INDEX api_keys_by_workspace ON api_keys (workspace_id, id);

-- A key has exactly one secret without dies_at; a rotation lets the old one expire and adds a new one.
CREATE TABLE api_key_secrets (
    segment TEXT NOT NULL PRIMARY KEY,
    key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    dies_at BIGINT
);
CREATE INDEX api_key_secrets_by_key ON api_key_secrets (key_id);

CREATE TABLE usage_events (
    request_id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    key_id TEXT,
    user_id TEXT,
    model TEXT NOT NULL,
    replica TEXT NOT NULL,
    streamed BIGINT NOT NULL,
    status BIGINT NOT NULL,
    code TEXT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    certainty TEXT NOT NULL,
    input_per_1m BIGINT NOT NULL,
    cached_input_per_1m BIGINT NOT NULL,
    output_per_1m BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    first_byte_micros BIGINT,
    duration_micros BIGINT NOT NULL
);
CREATE INDEX usage_events_by_workspace ON usage_events (workspace_id, started_at);

-- Its only row is locked by every transaction that publishes changes, so that seq has no gaps and follows commits.
CREATE TABLE change_counter (
    seq BIGINT NOT NULL
);
INSERT INTO change_counter (seq) VALUES (0);

CREATE TABLE changes (
    seq BIGINT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    at BIGINT NOT NULL
);

CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    catalogue_hash TEXT NOT NULL
);

CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    organization_id TEXT,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_by_organization ON audit (organization_id, id);
