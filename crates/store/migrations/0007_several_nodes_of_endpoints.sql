-- Dedicated endpoints on several nodes.

-- What each node tells of its calls to an endpoint, by the clock of the store; overwritten, and gone with the node.
-- `load` is in thousandths of a call; `replicas` says as JSON which replicas get its calls and how many each has.
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

-- Where a node keeps the replicas that it started, and on which machine: whoever leads there looks after them.
CREATE TABLE replica_roots (
    node TEXT NOT NULL PRIMARY KEY,
    machine TEXT NOT NULL,
    path TEXT NOT NULL
);

-- Since when failed starts of an endpoint count.
ALTER TABLE endpoints ADD COLUMN started_at BIGINT NOT NULL DEFAULT 0;

-- A port is given once at a time.
CREATE UNIQUE INDEX replicas_by_open_address ON replicas (node, address) WHERE ended_at IS NULL AND address IS NOT NULL;
