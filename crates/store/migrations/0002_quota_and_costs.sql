-- Used tokens of a workspace's monthly quota: the sum of its events of that month, updated by the transaction that
-- writes them. A month is a number such as 202611.
CREATE TABLE quota_months (
    workspace_id TEXT NOT NULL,
    month BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, month)
);

-- The tokens that one run of a node may spend: granted minus written is reserved, even after the run has died.
CREATE TABLE quota_leases (
    workspace_id TEXT NOT NULL,
    month BIGINT NOT NULL,
    run_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    granted BIGINT NOT NULL,
    written BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, month, run_id)
);
CREATE INDEX quota_leases_by_run ON quota_leases (run_id);

-- Hourly and daily sums of usage events in UTC, updated by the transaction that writes the events. `starts_at` is the
-- start of the hour or day; `actor` is the id of a key or a user.
CREATE TABLE usage_hours (
    workspace_id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    actor TEXT NOT NULL,
    requests BIGINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, starts_at, model, actor)
);

CREATE TABLE usage_days (
    workspace_id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    actor TEXT NOT NULL,
    requests BIGINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, starts_at, model, actor)
);

-- Usage from before there were sums.
INSERT INTO usage_hours (workspace_id, starts_at, model, actor, requests, prompt_tokens, completion_tokens, cached_tokens, cost)
SELECT workspace_id, started_at - started_at % 3600000, model, COALESCE(key_id, user_id),
    SUM(CASE WHEN certainty = 'void' THEN 0 ELSE 1 END), SUM(prompt_tokens), SUM(completion_tokens),
    SUM(cached_tokens), SUM(cost)
FROM usage_events
GROUP BY workspace_id, started_at - started_at % 3600000, model, COALESCE(key_id, user_id);
INSERT INTO usage_days (workspace_id, starts_at, model, actor, requests, prompt_tokens, completion_tokens, cached_tokens, cost)
SELECT workspace_id, started_at - started_at % 86400000, model, COALESCE(key_id, user_id),
    SUM(CASE WHEN certainty = 'void' THEN 0 ELSE 1 END), SUM(prompt_tokens), SUM(completion_tokens),
    SUM(cached_tokens), SUM(cost)
FROM usage_events
GROUP BY workspace_id, started_at - started_at % 86400000, model, COALESCE(key_id, user_id);

-- Price versions of models.
CREATE TABLE prices (
    model TEXT NOT NULL,
    valid_from BIGINT NOT NULL,
    input_per_1m BIGINT NOT NULL,
    cached_input_per_1m BIGINT NOT NULL,
    output_per_1m BIGINT NOT NULL,
    PRIMARY KEY (model, valid_from)
);
