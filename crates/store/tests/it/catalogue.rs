use crate::databases::on_both;
use crate::people::{NOW, later};
use domain::ModelId;
use domain::alias::AliasName;
use std::time::Duration;
use store::Change;
use store::catalogue::{self, SealedKey, StoredAlias, StoredModel, Uses};

fn model(id: &str) -> StoredModel {
    let id = ModelId::parse(id).unwrap();
    StoredModel { id, definition: "{}".into(), enabled: true, version: 1, created_at: NOW, updated_at: NOW }
}

#[tokio::test]
async fn entries_are_written_announced_and_deleted() {
    on_both(async |database, store| {
        let mut feed = database.open().await.changes().await.unwrap();
        let one = model("acme/one");
        let alias = StoredAlias { name: AliasName::parse("gpt-*").unwrap(), model: one.id.clone(), version: 1 };
        let key = SealedKey { model: one.id.clone(), url: "http://x/v1".into(), sealed: "abc".into() };
        let mut tx = store.begin().await.unwrap();
        assert_eq!(catalogue::lock(&mut tx).await.unwrap(), catalogue::StoredCatalogue::default());
        catalogue::put_model(&mut tx, &model("acme/two")).await.unwrap();
        catalogue::put_model(&mut tx, &one).await.unwrap();
        catalogue::put_alias(&mut tx, &alias, NOW).await.unwrap();
        catalogue::put_key(&mut tx, &key).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(feed.next(Duration::from_secs(5)).await.unwrap(), [Change::Catalogue]);

        let read = catalogue::read(&store).await.unwrap();
        assert_eq!(read.models, [one.clone(), model("acme/two")]);
        assert_eq!((read.alias("gpt-*"), &read.keys[..]), (Some(&alias), &[key.clone()][..]));
        assert_eq!(catalogue::uses(&store, &one.id).await.unwrap(), Uses::default());

        let changed = StoredModel { enabled: false, version: 2, updated_at: later(5), ..one.clone() };
        let mut tx = store.begin().await.unwrap();
        catalogue::put_model(&mut tx, &changed).await.unwrap();
        catalogue::put_key(&mut tx, &SealedKey { sealed: "def".into(), ..key.clone() }).await.unwrap();
        catalogue::delete_alias(&mut tx, &alias.name, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let read = catalogue::read(&store).await.unwrap();
        assert_eq!((read.model("acme/one"), read.aliases.len()), (Some(&changed), 0));
        assert_eq!(read.keys[0].sealed, "def");

        let mut tx = store.begin().await.unwrap();
        catalogue::delete_model(&mut tx, &one.id, NOW).await.unwrap();
        assert!(catalogue::delete_model(&mut tx, &one.id, NOW).await.is_err());
        tx.commit().await.unwrap();
        let read = catalogue::read(&store).await.unwrap();
        assert_eq!((read.models.len(), read.keys.len()), (1, 0), "keys end with their model");
    })
    .await;
}

#[tokio::test]
async fn a_change_is_read_whole_or_not_at_all() {
    const CHANGES: u64 = 40;
    on_both(async |_, store| {
        let write = async |version: u64| {
            let mut tx = store.begin().await.unwrap();
            let model = StoredModel { version, ..model("acme/one") };
            let key = SealedKey { model: model.id.clone(), url: "http://x/v1".into(), sealed: version.to_string() };
            catalogue::put_model(&mut tx, &model).await.unwrap();
            catalogue::put_key(&mut tx, &key).await.unwrap();
            tx.commit().await.unwrap();
        };
        write(1).await;
        let writer = async {
            for version in 2..=CHANGES {
                write(version).await;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let reader = async {
            loop {
                match catalogue::read(&store).await {
                    Ok(read) => {
                        assert_eq!(read.keys[0].sealed, read.models[0].version.to_string());
                        if read.models[0].version == CHANGES {
                            break;
                        }
                    }
                    Err(error) => assert!(error.is_unavailable(), "{error}"),
                }
            }
        };
        tokio::join!(writer, reader);
    })
    .await;
}
