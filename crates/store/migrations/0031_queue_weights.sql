-- The weight of a workspace among those whose calls wait for the same model.
ALTER TABLE workspaces ADD COLUMN queue_weight BIGINT NOT NULL DEFAULT 1;
