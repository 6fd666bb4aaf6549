-- Requests of one node to another: for a log of its machine, for a change of a download there. The other node writes its
-- response into the row, and the node that asked removes it. Nothing here needs to survive a crash.
--
-- Replaces two tables that no release has used.

DROP TABLE log_requests;
DROP TABLE download_requests;

--sqlite    CREATE TABLE node_requests (
--postgres  CREATE UNLOGGED TABLE node_requests (
    id TEXT NOT NULL PRIMARY KEY,
    -- The node that is asked.
    node TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- JSON.
    request TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    -- JSON; NULL until the node has responded.
    response TEXT
);
CREATE INDEX node_requests_by_node ON node_requests (node, requested_at);
