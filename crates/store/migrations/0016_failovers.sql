-- How often a stream went on at another replica after its replica was lost; 0 for calls of older versions.

ALTER TABLE usage_calls ADD COLUMN failovers BIGINT NOT NULL DEFAULT 0;

DROP VIEW usage_events;
CREATE VIEW usage_events AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model, c.failovers
FROM usage_calls c CROSS JOIN usage_kinds k
WHERE k.id = c.kind;

DROP VIEW usage_failures;
CREATE VIEW usage_failures AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model, c.failovers
FROM usage_calls c
--sqlite INDEXED BY usage_calls_failed
CROSS JOIN usage_kinds k
WHERE k.id = c.kind AND c.code <> '';
