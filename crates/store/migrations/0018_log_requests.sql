-- Requests for the end of a log on another node's machine. That node writes the text into the row, and the node that asked
-- removes it. Nothing here needs to survive a crash.

--sqlite    CREATE TABLE log_requests (
--postgres  CREATE UNLOGGED TABLE log_requests (
    id TEXT NOT NULL PRIMARY KEY,
    -- The node that has the log.
    node TEXT NOT NULL,
    name TEXT NOT NULL,
    max_bytes BIGINT NOT NULL,
    -- Only lines with this text; empty for all.
    search TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    -- NULL until the node has responded.
    responded_at BIGINT,
    -- NULL if the node has no such log.
    content TEXT
);
CREATE INDEX log_requests_by_node ON log_requests (node, responded_at);
