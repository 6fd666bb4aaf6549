-- The end user of a call; NULL if the call named none.
ALTER TABLE usage_calls ADD COLUMN end_user TEXT;
CREATE INDEX usage_calls_by_end_user ON usage_calls (workspace_id, end_user, started_at) WHERE end_user IS NOT NULL;

DROP VIEW usage_events;
CREATE VIEW usage_events AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model, c.failovers, c.batch_id,
    c.end_user
FROM usage_calls c CROSS JOIN usage_kinds k
WHERE k.id = c.kind;

DROP VIEW usage_failures;
CREATE VIEW usage_failures AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model, c.failovers, c.batch_id,
    c.end_user
FROM usage_calls c
--sqlite INDEXED BY usage_calls_failed
CROSS JOIN usage_kinds k
WHERE k.id = c.kind AND c.code <> '';

-- Calls that were rejected before they reached a replica.
ALTER TABLE refused_calls ADD COLUMN end_user TEXT;
