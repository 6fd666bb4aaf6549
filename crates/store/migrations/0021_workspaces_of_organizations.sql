-- How many workspaces the administrators of an organization may create; NULL follows the configured default.
ALTER TABLE organizations ADD COLUMN max_workspaces BIGINT;
