-- The size of all files of a workspace until their chunks are removed, for the bounds of its organization and of all files. A
-- file counts for at least 1 KiB. Files outlive a workspace that is deleted, so its organization is here, too: NULL if the
-- workspace was deleted before its first file or this table came.
CREATE TABLE stored_file_totals (
    workspace_id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT,
    bytes BIGINT NOT NULL
);
CREATE INDEX stored_file_totals_by_organization ON stored_file_totals (organization_id);
INSERT INTO stored_file_totals (workspace_id, organization_id, bytes)
SELECT f.workspace_id, MIN(w.organization_id),
    CAST(SUM(CASE WHEN f.bytes < 1024 THEN 1024 ELSE f.bytes END) AS BIGINT)
FROM files f LEFT JOIN workspaces w ON w.id = f.workspace_id GROUP BY f.workspace_id;
