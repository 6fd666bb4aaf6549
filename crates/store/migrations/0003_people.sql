-- Sessions, invitations, sign-in attempts, single sign-on, limits that administrators lowered, and an audit log that
-- has the records before and after.

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    organization_id TEXT REFERENCES organizations (id) ON DELETE SET NULL,
    workspace_id TEXT REFERENCES workspaces (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    address TEXT NOT NULL,
    user_agent TEXT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, id);
CREATE INDEX sessions_by_seen ON sessions (seen_at);

-- One row per account or address that was tried, by its digest.
CREATE TABLE sign_in_attempts (
    subject TEXT NOT NULL PRIMARY KEY,
    attempts BIGINT NOT NULL,
    since BIGINT NOT NULL
);

CREATE TABLE invitations (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT,
    expires_at BIGINT NOT NULL,
    accepted_at BIGINT
);
CREATE INDEX invitations_by_organization ON invitations (organization_id, id);

CREATE TABLE invitation_workspaces (
    invitation_id TEXT NOT NULL REFERENCES invitations (id) ON DELETE CASCADE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    PRIMARY KEY (invitation_id, workspace_id)
);

-- Pending sign-ins at the identity provider.
CREATE TABLE oidc_sign_ins (
    state_hash TEXT NOT NULL PRIMARY KEY,
    nonce TEXT NOT NULL,
    verifier TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- Subjects of the provider and their users, linked by the verified e-mail address.
CREATE TABLE oidc_links (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
);

-- The operator's values are in the columns without this prefix.
ALTER TABLE workspaces ADD COLUMN lowered_requests_per_minute BIGINT;
ALTER TABLE workspaces ADD COLUMN lowered_tokens_per_minute BIGINT;
ALTER TABLE workspaces ADD COLUMN lowered_monthly_tokens BIGINT;
ALTER TABLE workspaces ADD COLUMN lowered_max_api_keys BIGINT;

ALTER TABLE audit ADD COLUMN address TEXT;
ALTER TABLE audit ADD COLUMN was TEXT;
ALTER TABLE audit ADD COLUMN became TEXT;
