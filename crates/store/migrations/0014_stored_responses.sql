-- Stored responses. Their content is encrypted with the operator's content key; `content_key` is the id of that key. There is
-- no reference to the workspace: the rows of a deleted one are removed in batches, like those that are too old.

-- NULL: responses are not stored.
ALTER TABLE workspaces ADD COLUMN response_retention_days BIGINT;

CREATE TABLE stored_responses (
    workspace_id TEXT NOT NULL,
    id TEXT NOT NULL,
    -- The response that this one continues.
    previous_id TEXT,
    created_at BIGINT NOT NULL,
    content_key TEXT NOT NULL,
    -- The size of the content.
    bytes BIGINT NOT NULL,
--sqlite    input BLOB NOT NULL,
--postgres  input BYTEA NOT NULL,
--sqlite    response BLOB NOT NULL,
--postgres  response BYTEA NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX stored_responses_by_age ON stored_responses (workspace_id, created_at);
-- Encrypted content cannot be compressed.
--postgres ALTER TABLE stored_responses ALTER COLUMN input SET STORAGE EXTERNAL;
--postgres ALTER TABLE stored_responses ALTER COLUMN response SET STORAGE EXTERNAL;

-- The output items of stored responses, by which clients refer to them.
CREATE TABLE stored_response_items (
    workspace_id TEXT NOT NULL,
    id TEXT NOT NULL,
    response_id TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, response_id) REFERENCES stored_responses (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX stored_response_items_by_response ON stored_response_items (workspace_id, response_id);

-- The size of all stored responses of a workspace, for its bound; also the list of workspaces that have some.
CREATE TABLE stored_response_totals (
    workspace_id TEXT NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL
);
