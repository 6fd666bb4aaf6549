-- The class of a call; NULL if it was interactive, so that most rows do not grow.
ALTER TABLE usage_calls ADD COLUMN class TEXT;
-- Calls that were rejected before they reached a replica.
ALTER TABLE refused_calls ADD COLUMN class TEXT NOT NULL DEFAULT 'interactive';

-- Lines of batches from before this column are known by their surface.
DROP VIEW usage_events;
CREATE VIEW usage_events AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model, c.failovers, c.batch_id,
    c.end_user, COALESCE(c.class, CASE WHEN c.surface = 'batch' THEN 'batch' ELSE 'interactive' END) AS class
FROM usage_calls c CROSS JOIN usage_kinds k
WHERE k.id = c.kind;

DROP VIEW usage_failures;
CREATE VIEW usage_failures AS
SELECT c.request_id, k.organization_id, c.workspace_id,
    CASE WHEN k.actor LIKE 'key%' THEN k.actor END AS key_id, CASE WHEN k.actor LIKE 'usr%' THEN k.actor END AS user_id,
    k.actor, k.model, k.replica, k.streamed, k.status, c.code, c.prompt_tokens, c.completion_tokens, c.cached_tokens,
    k.certainty, k.input_per_1m, k.cached_input_per_1m, k.output_per_1m, c.cost, c.started_at, c.first_byte_micros,
    c.duration_micros, c.held_micros, c.sent_micros, c.surface, c.requested_model, c.failovers, c.batch_id,
    c.end_user, COALESCE(c.class, CASE WHEN c.surface = 'batch' THEN 'batch' ELSE 'interactive' END) AS class
FROM usage_calls c
--sqlite INDEXED BY usage_calls_failed
CROSS JOIN usage_kinds k
WHERE k.id = c.kind AND c.code <> '';

-- Flex calls from before are not known. Up to the last day with a sum of a class, events do not add up to these sums.
INSERT INTO retention_marks (name, cleared_before)
SELECT 'usage_classes', next_day FROM (SELECT MAX(starts_at) + 86400000 AS next_day FROM usage_classes) AS newest
WHERE next_day IS NOT NULL;
