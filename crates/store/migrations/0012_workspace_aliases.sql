-- Aliases of a workspace: further names of models of the catalogue, and of the workspace's dedicated endpoints.
CREATE TABLE workspace_aliases (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    model TEXT NOT NULL,
    PRIMARY KEY (workspace_id, name)
);
