-- The driver that runs a replica: before, there was only one.
ALTER TABLE replicas ADD COLUMN driver TEXT NOT NULL DEFAULT 'process';

-- The oldest version that works with a migration, since nodes are updated one after another. A migration records its own
-- number here unless it only adds.
ALTER TABLE schema_version ADD COLUMN serves_since BIGINT NOT NULL DEFAULT 9223372036854775807;
