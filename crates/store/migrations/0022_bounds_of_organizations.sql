-- The operator's bounds of an organization, over all its workspaces: NULL means no bound of tokens, and the configured default
-- for stored responses.
ALTER TABLE organizations ADD COLUMN monthly_tokens BIGINT;
ALTER TABLE organizations ADD COLUMN max_stored_bytes BIGINT;

-- The organization of the workspace, also after the workspace was deleted. NULL in rows of nodes that do not know it.
ALTER TABLE quota_months ADD COLUMN organization_id TEXT;
UPDATE quota_months SET organization_id =
    (SELECT w.organization_id FROM workspaces w WHERE w.id = quota_months.workspace_id);
CREATE INDEX quota_months_by_organization ON quota_months (organization_id, month);
