-- Proven addresses of accounts, sign-ins from known places, and keys by their creator.

-- Whether the identity provider or the operator vouches that the address belongs to the user. An invitation proves
-- nothing: the administrator who created its link can open it. Of the accounts that exist, those that an invitation
-- created are not proven; the audit log names all others.
ALTER TABLE users ADD COLUMN email_proven BIGINT NOT NULL DEFAULT 0;
UPDATE users SET email_proven = 1
WHERE operator = 1 OR id IN (SELECT subject FROM audit WHERE action = 'user.create');

-- The address of an account whose `email` is only a unique name, because another account has the address, too.
ALTER TABLE users ADD COLUMN shared_email TEXT;
CREATE INDEX users_by_shared_email ON users (shared_email);

-- 0 for memberships by invitation of an account that was not proven. Existing ones stay: they are of no use
-- without the password and the sessions, which end, and many users have no other.
ALTER TABLE organization_members ADD COLUMN proven BIGINT NOT NULL DEFAULT 1;

-- Digests of the IP addresses and browsers from which users have signed in.
CREATE TABLE known_origins (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    origin TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, origin)
);

CREATE INDEX api_keys_by_creator ON api_keys (created_by);
