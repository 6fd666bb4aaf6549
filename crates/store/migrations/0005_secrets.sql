-- Secrets that all nodes share, created by the first node that needs them.
CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
