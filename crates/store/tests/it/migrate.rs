use crate::databases::on_both_empty;
use crate::outside::outside;
use crate::people;
use domain::user::Role;
use sqlx::Executor;
use store::{Migrated, Store, StoreError, users};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn four_nodes_that_start_at_once_migrate_once() {
    on_both_empty(async |database| {
        let mut nodes = JoinSet::new();
        for _ in 0..4 {
            let (url, folder) = (database.url.clone(), database.data_dir().to_owned());
            nodes.spawn(async move { Store::open(&url, &folder).await?.migrate().await });
        }
        let done: Vec<Migrated> = nodes.join_all().await.into_iter().map(Result::unwrap).collect();
        assert_eq!(done.iter().filter(|migrated| migrated.from == 0).count(), 1, "{done:?}");
        people::workspace(&database.open().await).await;
    })
    .await;
}

#[tokio::test]
async fn a_schema_of_a_newer_version_is_rejected() {
    on_both_empty(async |database| {
        let store = database.open().await;
        let migrated = store.migrate().await.unwrap();
        let mut outside = outside(database).await;
        outside.execute("INSERT INTO schema_version (version) VALUES (9999)").await.unwrap();
        let rejected = store.migrate().await.unwrap_err();
        assert!(
            matches!(rejected, StoreError::SchemaTooNew { found: 9999, known } if known == migrated.to),
            "{rejected:?}"
        );
        // A migration that only adds is accepted: nodes are updated one after another.
        let adding = format!("UPDATE schema_version SET serves_since = {} WHERE version = 9999", migrated.to);
        outside.execute(sqlx::AssertSqlSafe(adding)).await.unwrap();
        assert_eq!(store.migrate().await.unwrap(), Migrated { from: 9999, to: 9999 });
        let breaking = "UPDATE schema_version SET serves_since = 9998 WHERE version = 9999";
        outside.execute(breaking).await.unwrap();
        assert!(matches!(store.migrate().await.unwrap_err(), StoreError::SchemaTooNew { .. }));
    })
    .await;
}

#[tokio::test]
async fn a_migration_that_was_added_after_its_successor_still_runs() {
    on_both_empty(async |database| {
        let store = database.open().await;
        let newest = store.migrate().await.unwrap().to;
        let mut outside = outside(database).await;
        for table in ["quota_months", "quota_leases", "usage_hours", "usage_days", "prices"] {
            outside.execute(sqlx::AssertSqlSafe(format!("DROP TABLE {table}"))).await.unwrap();
        }
        outside.execute("DELETE FROM schema_version WHERE version = 2").await.unwrap();
        assert_eq!(store.migrate().await.unwrap(), Migrated { from: newest, to: newest });
        outside.execute("SELECT used FROM quota_months").await.unwrap();
        assert_eq!(store.migrate().await.unwrap(), Migrated { from: newest, to: newest });
    })
    .await;
}

/// An invitation proves no address, so accounts that one created before are not proven. The audit log names all others.
#[tokio::test]
async fn existing_accounts_are_proven_if_no_invitation_created_them() {
    on_both_empty(async |database| {
        let store = database.open().await;
        store.migrate().await.unwrap();
        let organization = people::organization(&store).await;
        let mut all = Vec::new();
        for email in ["operator@x", "created@x", "invited@x"] {
            all.push(people::user(&store, email, &organization, Role::Member).await.id);
        }
        let mut outside = outside(database).await;
        for back in [
            "DROP INDEX users_by_shared_email",
            "DROP INDEX api_keys_by_creator",
            "DROP TABLE known_origins",
            "ALTER TABLE users DROP COLUMN email_proven",
            "ALTER TABLE users DROP COLUMN shared_email",
            "ALTER TABLE organization_members DROP COLUMN proven",
            "DELETE FROM schema_version WHERE version = 10",
            "UPDATE users SET operator = 1 WHERE email = 'operator@x'",
            "INSERT INTO audit (id, at, actor, action, subject, detail) \
             SELECT 'a', 0, 'forebay admin', 'user.create', id, '' FROM users WHERE email = 'created@x'",
        ] {
            outside.execute(back).await.unwrap();
        }
        store.migrate().await.unwrap();
        for (id, proven) in all.iter().zip([true, true, false]) {
            let user = users::by_id(&store, id).await.unwrap().unwrap();
            assert_eq!(user.email_proven, proven, "{}", user.email);
            assert!(user.memberships[0].proven, "memberships from before are kept");
        }
    })
    .await;
}

#[tokio::test]
async fn an_absent_store_is_noticed_quickly() {
    let started = std::time::Instant::now();
    let folder = tempfile::TempDir::new().unwrap();
    let rejected = Store::open("postgres://user@127.0.0.1:1/none", folder.path()).await.unwrap_err();
    assert!(rejected.is_unavailable(), "{rejected:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(4));
}

#[tokio::test]
async fn an_unsupported_url_is_rejected_without_repeating_it() {
    let folder = tempfile::TempDir::new().unwrap();
    let rejected = Store::open("mysql://me:secret@host/db", folder.path()).await.unwrap_err();
    assert!(matches!(rejected, StoreError::BadAddress { .. }));
    assert!(!format!("{rejected} {rejected:?}").contains("secret"));
}
