-- What a key may do, as JSON (crates/domain/src/accounts/key_restrictions.rs), and its labels; NULL for none.
ALTER TABLE api_keys ADD COLUMN restrictions TEXT;
ALTER TABLE api_keys ADD COLUMN labels TEXT;
