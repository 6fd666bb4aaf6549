-- Requests of operators to change a download on another node's machine. That node makes the change and writes its outcome
-- into the row, and the node that asked removes it. Nothing here needs to survive a crash.

--sqlite    CREATE TABLE download_requests (
--postgres  CREATE UNLOGGED TABLE download_requests (
    id TEXT NOT NULL PRIMARY KEY,
    -- The node that has the download.
    node TEXT NOT NULL,
    download TEXT NOT NULL,
    -- cancel, resume or delete.
    change TEXT NOT NULL,
    -- The operator and the address of the request, for the audit log.
    user_id TEXT NOT NULL,
    address TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    -- NULL until the node has responded.
    outcome TEXT
);
CREATE INDEX download_requests_by_node ON download_requests (node, requested_at);
