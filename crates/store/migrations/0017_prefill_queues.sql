-- Prompt tokens in flight at each replica of an endpoint, per minute, hour and day. Every node adds what it has in flight;
-- `samples` counts the readings of the leader, so that `total / samples` is the mean of all nodes together.
CREATE TABLE prefill_queues (
    workspace_id TEXT NOT NULL,
    resolution BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    replica TEXT NOT NULL,
    total BIGINT NOT NULL,
    highest BIGINT NOT NULL,
    samples BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, resolution, starts_at, model, replica)
);
CREATE INDEX prefill_queues_by_time ON prefill_queues (resolution, starts_at);
