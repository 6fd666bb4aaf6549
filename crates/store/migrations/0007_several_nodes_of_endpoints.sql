-- Dedicated endpoints on several nodes.

-- Each node's report of its calls to an endpoint, by the clock of the store; overwritten, and deleted with the node.
-- `load` is in thousandths of a call; `replicas` is JSON: the replicas that get its calls, with the number of calls.
CREATE TABLE endpoint_loads (
    node TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    reported_at BIGINT NOT NULL,
    load BIGINT NOT NULL,
    open_calls BIGINT NOT NULL,
    last_call_at BIGINT,
    replicas TEXT NOT NULL,
    PRIMARY KEY (node, endpoint_id)
);
CREATE INDEX endpoint_loads_by_endpoint ON endpoint_loads (endpoint_id);

-- The folder and machine of the replicas that a node started: any leader on that machine can manage them.
CREATE TABLE replica_roots (
    node TEXT NOT NULL PRIMARY KEY,
    machine TEXT NOT NULL,
    path TEXT NOT NULL
);

-- The time since which failed starts of an endpoint count.
ALTER TABLE endpoints ADD COLUMN started_at BIGINT NOT NULL DEFAULT 0;

-- A port is assigned only once at a time.
CREATE UNIQUE INDEX replicas_by_open_address ON replicas (node, address) WHERE ended_at IS NULL AND address IS NOT NULL;
