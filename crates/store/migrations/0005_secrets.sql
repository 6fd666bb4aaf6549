-- What all nodes know and nobody else: made by whichever needs it first.
CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
