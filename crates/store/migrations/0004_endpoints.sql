-- Dedicated endpoints. The commitment of an endpoint is in its own row, and their sum is the ledger: no counter can drift.
-- Every write increments generation and names the generation it read; leader_epoch is that of the newest leader that
-- wrote the row. `target` is in thousandths. A deleted endpoint stays as a tombstone, and its name is free.
CREATE TABLE endpoints (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    model TEXT NOT NULL,
    flavor TEXT NOT NULL,
    gpu_type TEXT NOT NULL,
    gpu_count BIGINT NOT NULL,
    shape TEXT NOT NULL,
    replicas BIGINT,
    min_replicas BIGINT,
    max_replicas BIGINT,
    metric TEXT NOT NULL,
    target BIGINT NOT NULL,
    to_zero_secs BIGINT NOT NULL,
    up_secs BIGINT NOT NULL,
    down_secs BIGINT NOT NULL,
    state TEXT NOT NULL,
    state_reason TEXT NOT NULL,
    state_message TEXT NOT NULL,
    state_since BIGINT NOT NULL,
    desired BIGINT NOT NULL,
    drain_secs BIGINT NOT NULL,
    committed_gpus BIGINT NOT NULL CHECK (committed_gpus >= 0),
    last_request_at BIGINT,
    labels TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    leader_epoch BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE UNIQUE INDEX endpoints_by_name ON endpoints (organization_id, name) WHERE deleted_at IS NULL;
CREATE INDEX endpoints_by_workspace ON endpoints (workspace_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX endpoints_by_gpu_type ON endpoints (organization_id, gpu_type) WHERE deleted_at IS NULL;

-- The labels of endpoints, for searching.
CREATE TABLE endpoint_labels (
    endpoint_id TEXT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (endpoint_id, name)
);

CREATE TABLE endpoint_events (
    id TEXT NOT NULL PRIMARY KEY,
    endpoint_id TEXT NOT NULL,
    type TEXT NOT NULL,
    at BIGINT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    from_state TEXT,
    to_state TEXT,
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    replica_id TEXT,
    data TEXT NOT NULL
);
CREATE INDEX endpoint_events_by_endpoint ON endpoint_events (endpoint_id, at, id);
CREATE INDEX endpoint_events_by_time ON endpoint_events (at);

-- A cap, and the lock under which commitments of the organization and type are added up. Without its own allotment, an
-- organization has the configured default.
CREATE TABLE gpu_allotments (
    organization_id TEXT NOT NULL,
    gpu_type TEXT NOT NULL,
    allotment BIGINT CHECK (allotment >= 0),
    version BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, gpu_type)
);

-- History of commitments; append-only and informational.
CREATE TABLE allotment_entries (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL,
    gpu_type TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    released BIGINT NOT NULL,
    added BIGINT NOT NULL
);
CREATE INDEX allotment_entries_by_organization ON allotment_entries (organization_id, gpu_type, id);

-- Responses of changes, written in the same transaction, to be repeated for a request with the same idempotency key.
CREATE TABLE idempotency_keys (
    workspace_id TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    outcome TEXT NOT NULL,
    response TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, key)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);

-- Replicas: intended state (wish, drain_until) and observed state (state and the columns after it).
CREATE TABLE replicas (
    id TEXT NOT NULL PRIMARY KEY,
    endpoint_id TEXT NOT NULL,
    wish TEXT NOT NULL,
    drain_until BIGINT,
    state TEXT NOT NULL,
    node TEXT,
    address TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ready_at BIGINT,
    ended_at BIGINT,
    last_error TEXT,
    ending TEXT,
    log_tail TEXT NOT NULL,
    leader_epoch BIGINT NOT NULL
);
CREATE INDEX replicas_by_endpoint ON replicas (endpoint_id, id);

-- Intervals in which a replica holds GPUs: the source of GPU-hours. Names are copied, so that they survive their owners.
CREATE TABLE replica_holds (
    replica_id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    endpoint_name TEXT NOT NULL,
    model TEXT NOT NULL,
    flavor TEXT NOT NULL,
    gpu_type TEXT NOT NULL,
    gpu_count BIGINT NOT NULL,
    price_per_gpu_hour BIGINT NOT NULL,
    node TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    ended_at BIGINT,
    end_reason TEXT NOT NULL,
    billable BIGINT NOT NULL
);
CREATE INDEX replica_holds_by_endpoint ON replica_holds (endpoint_id, started_at);
CREATE INDEX replica_holds_by_workspace ON replica_holds (workspace_id, started_at);
CREATE INDEX replica_holds_open ON replica_holds (node) WHERE ended_at IS NULL;

CREATE TABLE hold_gpus (
    replica_id TEXT NOT NULL REFERENCES replica_holds (replica_id),
    node TEXT NOT NULL,
    gpu_uuid TEXT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (replica_id, gpu_uuid)
);
CREATE UNIQUE INDEX hold_gpus_open ON hold_gpus (node, gpu_uuid) WHERE ended_at IS NULL;

-- GPU time per hour, for export. Overwritten until sealed, then corrected by further rows that name the adjusted one.
CREATE TABLE gpu_usage_hourly (
    id TEXT NOT NULL PRIMARY KEY,
    replica_id TEXT NOT NULL,
    hour BIGINT NOT NULL,
    gpu_ms BIGINT NOT NULL,
    adjusts TEXT,
    sealed_at BIGINT,
    sent_at BIGINT
);
CREATE INDEX gpu_usage_hourly_by_replica ON gpu_usage_hourly (replica_id, hour);
CREATE INDEX gpu_usage_hourly_unsent ON gpu_usage_hourly (hour) WHERE sent_at IS NULL;

-- How busy the GPUs of an endpoint were in windows of five minutes, in millionths.
CREATE TABLE gpu_busy_windows (
    endpoint_id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    busy BIGINT NOT NULL,
    sampled BIGINT NOT NULL,
    PRIMARY KEY (endpoint_id, starts_at)
);

-- Price versions of flavors.
CREATE TABLE gpu_prices (
    model TEXT NOT NULL,
    flavor TEXT NOT NULL,
    valid_from BIGINT NOT NULL,
    price_per_gpu_hour BIGINT NOT NULL,
    PRIMARY KEY (model, flavor, valid_from)
);

-- The autoscaler's memory of an endpoint, as JSON.
CREATE TABLE autoscaler_memory (
    endpoint_id TEXT NOT NULL PRIMARY KEY,
    memory TEXT NOT NULL
);

-- The leader. Its only row is locked by every write of a leader, so that writes of an older epoch are rejected.
CREATE TABLE leader (
    name TEXT NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL,
    holder TEXT NOT NULL,
    renewals BIGINT NOT NULL,
    renewed_at BIGINT NOT NULL
);
INSERT INTO leader (name, epoch, holder, renewals, renewed_at) VALUES ('control', 0, '', 0, 0);
