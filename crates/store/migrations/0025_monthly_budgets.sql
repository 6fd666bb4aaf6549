-- The most nano-dollars that a workspace, or all workspaces of an organization, may cost in a month: the operator's amount, and
-- that of the administrators; NULL for none. The lower one applies.
ALTER TABLE workspaces ADD COLUMN monthly_usd BIGINT;
ALTER TABLE workspaces ADD COLUMN own_monthly_usd BIGINT;
ALTER TABLE organizations ADD COLUMN monthly_usd BIGINT;
ALTER TABLE organizations ADD COLUMN own_monthly_usd BIGINT;

-- The costs of a workspace in a month: of its serverless calls, counted with their tokens and counted again when a budget is set,
-- because nodes of an older version do not add to them; and of its GPU-hours, which the leader writes.
ALTER TABLE quota_months ADD COLUMN cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE quota_months ADD COLUMN gpu_cost BIGINT NOT NULL DEFAULT 0;
