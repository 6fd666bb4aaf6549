-- Which driver runs a replica: until now there was only one.
ALTER TABLE replicas ADD COLUMN driver TEXT NOT NULL DEFAULT 'process';

-- Which programs can live with a migration: from now on nodes are updated one after another.
-- Whoever makes a migration writes its own number here, unless it only adds.
ALTER TABLE schema_version ADD COLUMN serves_since BIGINT NOT NULL DEFAULT 9223372036854775807;
