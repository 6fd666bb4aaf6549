-- The limits of a key by model, as JSON (crates/domain/src/accounts/key_limits.rs); NULL for none.
ALTER TABLE api_keys ADD COLUMN limits TEXT;

-- The operator's limits per minute of all workspaces of an organization together; NULL for none.
ALTER TABLE organizations ADD COLUMN requests_per_minute BIGINT;
ALTER TABLE organizations ADD COLUMN tokens_per_minute BIGINT;

-- What becomes of running endpoints when a monthly budget is spent: `suspend`, or NULL if they go on.
ALTER TABLE organizations ADD COLUMN on_budget TEXT;
ALTER TABLE workspaces ADD COLUMN on_budget TEXT;
