-- How a call was made: the surface (`chat`, `messages` and so on), and the name that the client sent if it is an alias. Both
-- are empty for calls of older versions; the name also for calls by the id of the model.

ALTER TABLE usage_calls ADD COLUMN surface TEXT NOT NULL DEFAULT '';
ALTER TABLE usage_calls ADD COLUMN requested_model TEXT NOT NULL DEFAULT '';
ALTER TABLE refused_calls ADD COLUMN surface TEXT NOT NULL DEFAULT '';
ALTER TABLE refused_calls ADD COLUMN requested_model TEXT NOT NULL DEFAULT '';

DROP VIEW usage_events;
CREATE VIEW usage_events AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model
FROM usage_calls c CROSS JOIN usage_kinds k
WHERE k.id = c.kind;

DROP VIEW usage_failures;
CREATE VIEW usage_failures AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model
FROM usage_calls c
--sqlite INDEXED BY usage_calls_failed
CROSS JOIN usage_kinds k
WHERE k.id = c.kind AND c.code <> '';
