-- The budgets of a key, as JSON (crates/domain/src/limits/budget.rs); NULL for none.
ALTER TABLE api_keys ADD COLUMN budgets TEXT;

-- The nano-dollars of one budget and period that one run of a node may spend: granted minus written is reserved, even after the
-- run has died. What was spent is the sum of the key's usage. `kind` is the window, `starts_at` the start of its period.
CREATE TABLE budget_leases (
    account TEXT NOT NULL,
    kind TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    run_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    granted BIGINT NOT NULL,
    written BIGINT NOT NULL,
    PRIMARY KEY (account, kind, starts_at, run_id)
);
CREATE INDEX budget_leases_by_run ON budget_leases (run_id);

-- What one key spent is read without the rows of others.
CREATE INDEX usage_days_by_actor ON usage_days (actor, starts_at);
