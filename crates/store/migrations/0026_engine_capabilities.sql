-- What engines can do, as the node found out that asked them. All nodes read it.
CREATE TABLE engine_capabilities (
    -- Identifies the engine: an upstream, a pool, or the replicas of an endpoint.
    engine TEXT NOT NULL PRIMARY KEY,
    -- The Model ID under which it was asked.
    model TEXT NOT NULL,
    -- NULL if the engine does not say it.
    version TEXT,
    -- JSON; NULL until a probe has ended.
    capabilities TEXT,
    -- 1 if all questions were asked.
    is_complete BIGINT NOT NULL DEFAULT 0,
    asked_at BIGINT NOT NULL,
    -- A node asks the engine until then at the latest.
    claimed_until BIGINT NOT NULL
);
