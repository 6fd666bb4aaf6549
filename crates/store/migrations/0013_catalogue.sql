-- The catalogue that operators manage through the API, beside the one of the configuration file.

-- A definition is the model's table of the configuration file as JSON, without secrets.
CREATE TABLE catalogue_models (
    id TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Encrypted keys of upstreams. A key belongs to an address, so that it is never sent to another one.
CREATE TABLE catalogue_upstream_keys (
    model TEXT NOT NULL REFERENCES catalogue_models (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    sealed TEXT NOT NULL,
    PRIMARY KEY (model, url)
);

CREATE TABLE catalogue_aliases (
    name TEXT NOT NULL PRIMARY KEY,
    model TEXT NOT NULL,
    version BIGINT NOT NULL
);

-- The state that a node reports with its heartbeat, as JSON; empty for nodes of older versions.
ALTER TABLE nodes ADD COLUMN report TEXT NOT NULL DEFAULT '';
