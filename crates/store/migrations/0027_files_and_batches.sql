-- Files and batches. Content is encrypted with the operator's content key if there is one; `content_key` is then the id of
-- that key, else NULL. There is no reference to the workspace: the rows of a deleted one are removed when they expire.

CREATE TABLE files (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    filename TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    -- `writing`, `complete` or `deleted`. The chunks of a deleted file are removed in steps.
    state TEXT NOT NULL,
    -- 0 for results that only their batch shows.
    is_listed BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX files_by_workspace ON files (workspace_id, id);
CREATE INDEX files_by_expiry ON files (expires_at);

CREATE TABLE file_chunks (
    file_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    content_key TEXT,
--sqlite    content BLOB NOT NULL,
--postgres  content BYTEA NOT NULL,
    PRIMARY KEY (file_id, number)
);

CREATE TABLE batches (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    actor TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    status TEXT NOT NULL,
    is_open BIGINT NOT NULL,
    model TEXT,
    input_file_id TEXT,
    output_file_id TEXT,
    error_file_id TEXT,
    output_expiry_secs BIGINT,
    -- JSON objects and lists; NULL for none.
    metadata TEXT,
    problems TEXT,
    lines BIGINT NOT NULL,
    succeeded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    expired BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    -- In nano-dollars.
    cost BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    in_progress_at BIGINT,
    expires_at BIGINT NOT NULL,
    finalizing_at BIGINT,
    completed_at BIGINT,
    failed_at BIGINT,
    expired_at BIGINT,
    cancelling_at BIGINT,
    cancelled_at BIGINT,
    -- The run of the node that reads the input or writes the results, until this moment.
    run_id TEXT NOT NULL,
    run_until BIGINT NOT NULL
);
CREATE INDEX batches_by_workspace ON batches (workspace_id, id);
CREATE INDEX batches_open ON batches (id) WHERE is_open = 1;

-- The lines that have not ended.
CREATE TABLE batch_lines (
    batch_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    custom_id TEXT NOT NULL,
    content_key TEXT,
    -- The body of the call.
--sqlite    content BLOB NOT NULL,
--postgres  content BYTEA NOT NULL,
    -- The run of the node that makes the call; empty if none does.
    run_id TEXT NOT NULL,
    -- When the line may be taken: the end of the lease, or of the pause after an attempt.
    available_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- The code of the last attempt; empty if there was none.
    last_code TEXT NOT NULL,
    PRIMARY KEY (batch_id, number)
);
CREATE INDEX batch_lines_available ON batch_lines (batch_id, available_at, number);
CREATE INDEX batch_lines_by_run ON batch_lines (run_id) WHERE run_id <> '';

-- The lines that have ended, until the results are in files. A line has one row here or in `batch_lines`, and its usage
-- event is written by the transaction that moves it.
CREATE TABLE batch_results (
    batch_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    custom_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    -- Of the response; 0 if there is none.
    status BIGINT NOT NULL,
    content_key TEXT,
    -- The body of the response; NULL if there is none.
--sqlite    content BLOB,
--postgres  content BYTEA,
    PRIMARY KEY (batch_id, number)
);
-- Encrypted content cannot be compressed.
--postgres ALTER TABLE file_chunks ALTER COLUMN content SET STORAGE EXTERNAL;

-- The batch whose line a call is; empty for all others.
ALTER TABLE usage_calls ADD COLUMN batch_id TEXT NOT NULL DEFAULT '';

DROP VIEW usage_events;
CREATE VIEW usage_events AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model, c.failovers, c.batch_id
FROM usage_calls c CROSS JOIN usage_kinds k
WHERE k.id = c.kind;

DROP VIEW usage_failures;
CREATE VIEW usage_failures AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model, c.failovers, c.batch_id
FROM usage_calls c
--sqlite INDEXED BY usage_calls_failed
CROSS JOIN usage_kinds k
WHERE k.id = c.kind AND c.code <> '';
