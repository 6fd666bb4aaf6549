//! Checks that the store is reachable and has a schema that this version supports.

use super::finding::Finding;
use config::Config;
use std::path::Path;
use store::{Engine, Schema, Store, StoreError};

const CHECK: &str = "store";

/// The store, if it is usable. A missing file is not created.
pub(super) async fn check(config: &Config, data_dir: &Path) -> (Option<Store>, Finding) {
    let url = &config.store.url;
    match Store::file(url, data_dir) {
        Ok(Some(file)) if !file.exists() => {
            let what = format!("{} does not exist yet", file.display());
            return (None, Finding::warning(CHECK, what, "the first start creates it"));
        }
        Ok(_) => {}
        Err(error) => return (None, unusable(&error)),
    }
    let store = match Store::open(url, data_dir).await {
        Ok(store) => store,
        Err(error) => return (None, unusable(&error)),
    };
    let name = match store.engine() {
        Engine::Sqlite => "SQLite",
        Engine::Postgres => "PostgreSQL",
    };
    match store.schema().await {
        Ok(schema) => (Some(store), judge(name, &schema)),
        Err(error) => (None, unusable(&error)),
    }
}

fn unusable(error: &StoreError) -> Finding {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Finding::problem(
        CHECK,
        format!("{error}{cause}"),
        "check that the database runs, and that store.url (or FOREBAY_STORE_URL) has the correct address, name and password",
    )
}

fn judge(name: &str, schema: &Schema) -> Finding {
    let Schema { found, known, can_be_served, to_do } = *schema;
    match found {
        None => Finding::warning(CHECK, format!("{name} responds and is empty"), "the first start fills it"),
        Some(found) if !can_be_served => Finding::problem(
            CHECK,
            format!("{name} has schema version {found}, this version supports up to {known}"),
            "run a newer forebay: this one does not support that schema",
        ),
        Some(found) if to_do > 0 => Finding::warning(
            CHECK,
            format!("{name} responds; schema version {found}, {to_do} pending migrations"),
            "the next start applies them, or `forebay migrate` does; back up the database first",
        ),
        Some(found) if found > known => Finding::ok(
            CHECK,
            format!("{name} responds; schema version {found} of a newer version, which this one supports"),
        ),
        Some(found) => Finding::ok(CHECK, format!("{name} responds; schema version {found}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn an_unsupported_schema_is_reported() {
        for (found, can_be_served, to_do, level) in [
            (Some(5), true, 0, Level::Ok),
            (Some(5), true, 1, Level::Warning),
            (None, true, 5, Level::Warning),
            (Some(6), true, 0, Level::Ok),
            (Some(6), false, 0, Level::Problem),
        ] {
            let found = judge("SQLite", &Schema { found, known: 5, can_be_served, to_do });
            assert_eq!(found.level, level, "{}", found.what);
        }
    }
}
