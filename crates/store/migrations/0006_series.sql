-- Tables for dashboards, the request log, GPU measurements and the bill check.

-- How long a call was held, and when it was first sent to a replica.
ALTER TABLE usage_events ADD COLUMN held_micros BIGINT;
ALTER TABLE usage_events ADD COLUMN sent_micros BIGINT;
-- Errors are few among many calls.
CREATE INDEX usage_events_failed ON usage_events (workspace_id, started_at) WHERE code <> '';

-- Rejected calls, for the request log. They are not usage; under heavy load, not all of them are stored.
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

-- Calls per minute, hour and day (`resolution` in milliseconds), updated by the transaction that writes the events.
-- `level` is the level of detail: 0 workspace, 1 per model, 2 per actor, 3 both; other columns are empty, and so is the
-- model of calls that named none. Sketches are in base64.
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

-- Gauges of the engines of dedicated endpoints, sampled periodically: sum and maximum, in thousandths.
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

-- How busy each GPU of a replica was in a window of five minutes: the sum of samples in millionths. The windows of
-- endpoints are computed from them; `samples` is their number.
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

-- Tokens billed per replica and hour, by the end of the calls; updated with the events.
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

-- The last reading of an engine's counters, and their growth per hour. `source` is the node that runs the engine; empty
-- for model servers that all nodes share.
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

-- Up to which moment rows were deleted: usage events, for the rebuild of sums.
CREATE TABLE retention_marks (
    name TEXT NOT NULL PRIMARY KEY,
    cleared_before BIGINT NOT NULL
);
