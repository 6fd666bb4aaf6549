-- What dashboards, the request log, utilization and reconciliation are read from.

-- How long a call was held, and when it was first sent to a replica.
ALTER TABLE usage_events ADD COLUMN held_micros BIGINT;
ALTER TABLE usage_events ADD COLUMN sent_micros BIGINT;
-- Who asks for errors asks for few among many.
CREATE INDEX usage_events_failed ON usage_events (workspace_id, started_at) WHERE code <> '';

-- Calls that no replica saw, for the request log. They are no usage; not all of them are here when there are very many.
CREATE TABLE refused_calls (
    request_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    key_id TEXT,
    user_id TEXT,
    model TEXT NOT NULL,
    status BIGINT NOT NULL,
    code TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    duration_micros BIGINT NOT NULL,
    held_micros BIGINT
);
CREATE INDEX refused_calls_by_workspace ON refused_calls (workspace_id, started_at);

-- What calls did by the minute, the hour and the day (`resolution` in milliseconds), kept by the transaction that writes
-- the events. `level` says what rows tell apart: 0 nothing, 1 models, 2 callers, 3 both; what they do not tell is empty,
-- and so is the model of calls that named none. Sketches are in base64.
CREATE TABLE series (
    workspace_id TEXT NOT NULL,
    resolution BIGINT NOT NULL,
    level BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    actor TEXT NOT NULL,
    requests BIGINT NOT NULL DEFAULT 0,
    errors BIGINT NOT NULL DEFAULT 0,
    prompt_tokens BIGINT NOT NULL DEFAULT 0,
    completion_tokens BIGINT NOT NULL DEFAULT 0,
    cached_tokens BIGINT NOT NULL DEFAULT 0,
    busy_micros BIGINT NOT NULL DEFAULT 0,
    ttft TEXT NOT NULL DEFAULT '',
    time_per_output_token TEXT NOT NULL DEFAULT '',
    latency TEXT NOT NULL DEFAULT '',
    hold TEXT NOT NULL DEFAULT '',
    queue TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, resolution, level, starts_at, model, actor)
);
CREATE INDEX series_by_time ON series (resolution, starts_at);

-- Errors of the same rows by code.
CREATE TABLE series_codes (
    workspace_id TEXT NOT NULL,
    resolution BIGINT NOT NULL,
    level BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    actor TEXT NOT NULL,
    code TEXT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, resolution, level, starts_at, model, actor, code)
);
CREATE INDEX series_codes_by_time ON series_codes (resolution, starts_at);

-- What was read off the engines of dedicated endpoints now and then: sums and the highest, in thousandths.
CREATE TABLE gauges (
    workspace_id TEXT NOT NULL,
    resolution BIGINT NOT NULL,
    name TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    total BIGINT NOT NULL,
    highest BIGINT NOT NULL,
    samples BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, resolution, name, starts_at, model)
);
CREATE INDEX gauges_by_time ON gauges (resolution, starts_at);

-- How busy each GPU of a replica was in a window of five minutes: the sum of samples in millionths. Windows of endpoints
-- are made of them; `samples` there is how many there were, for those who want to know how much was measured.
CREATE TABLE gpu_busy_samples (
    endpoint_id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    replica_id TEXT NOT NULL,
    gpu_uuid TEXT NOT NULL,
    busy BIGINT NOT NULL,
    samples BIGINT NOT NULL,
    PRIMARY KEY (endpoint_id, starts_at, replica_id, gpu_uuid)
);
CREATE INDEX gpu_busy_samples_by_time ON gpu_busy_samples (starts_at);
ALTER TABLE gpu_busy_windows ADD COLUMN samples BIGINT NOT NULL DEFAULT 0;

CREATE INDEX replica_holds_by_organization ON replica_holds (organization_id, started_at);

-- Tokens that were billed for a replica's work in an hour, by the end of the calls; kept with the events.
CREATE TABLE replica_hours (
    replica TEXT NOT NULL,
    hour BIGINT NOT NULL,
    model TEXT NOT NULL,
    requests BIGINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    PRIMARY KEY (replica, hour)
);
CREATE INDEX replica_hours_by_time ON replica_hours (hour);

-- What an engine's own counters said last, and by how much they grew in each hour. `source` is the node that runs the
-- engine, and empty for model servers that all nodes share.
CREATE TABLE engine_counters (
    replica TEXT NOT NULL,
    source TEXT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    read_at BIGINT NOT NULL,
    PRIMARY KEY (replica, source)
);
CREATE TABLE engine_hours (
    replica TEXT NOT NULL,
    hour BIGINT NOT NULL,
    model TEXT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    counts_cached BIGINT NOT NULL,
    read_until BIGINT NOT NULL,
    PRIMARY KEY (replica, hour)
);
CREATE INDEX engine_hours_by_time ON engine_hours (hour);

-- Before which moment something was cleared away: usage events, for whoever adds them up again.
CREATE TABLE retention_marks (
    name TEXT NOT NULL PRIMARY KEY,
    cleared_before BIGINT NOT NULL
);
