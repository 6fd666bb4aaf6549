-- Which driver runs a replica: until now there was only one.
ALTER TABLE replicas ADD COLUMN driver TEXT NOT NULL DEFAULT 'process';
