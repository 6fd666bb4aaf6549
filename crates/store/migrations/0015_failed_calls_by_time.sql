-- Failed calls of all workspaces in a span of time, for the operator.
CREATE INDEX usage_calls_failed_by_time ON usage_calls (started_at) WHERE code <> '';
