-- What engines can do, as the node found out that probed them. All nodes read it.
CREATE TABLE engine_capabilities (
    -- Identifies the engine: an upstream, a pool, or the replicas of an endpoint, each with its options.
    engine TEXT NOT NULL PRIMARY KEY,
    -- The Model ID under which it was probed.
    model TEXT NOT NULL,
    -- NULL if the engine does not say it.
    version TEXT,
    -- JSON; NULL until a probe has ended.
    capabilities TEXT,
    -- Probes since the last one that made all of its calls.
    failures BIGINT NOT NULL DEFAULT 0,
    -- JSON: names of the calls that ended an engine of this version. They are not made again.
    fatal_calls TEXT NOT NULL DEFAULT '[]',
    -- When the last probe began, whatever it has found.
    probed_at BIGINT NOT NULL,
    -- A node probes the engine until then at the latest.
    claimed_until BIGINT NOT NULL
);
