use crate::databases::on_both;
use crate::people::{NOW, later};
use store::nodes::{self, Node};
use store::{Page, StoreError};

#[tokio::test]
async fn a_node_with_another_catalogue_shows_while_it_is_alive() {
    on_both(async |_, store| {
        let node = |id: &str, seen_at, hash: &str| Node {
            id: id.into(),
            started_at: NOW,
            seen_at,
            catalogue_hash: hash.into(),
        };
        let mut tx = store.begin().await.unwrap();
        nodes::record(&mut tx, &node("a", NOW, "one")).await.unwrap();
        nodes::record(&mut tx, &node("a", later(10), "one")).await.unwrap();
        nodes::record(&mut tx, &node("b", later(10), "two")).await.unwrap();
        nodes::record(&mut tx, &node("dead", NOW, "three")).await.unwrap();
        tx.commit().await.unwrap();

        let differing = nodes::differing_catalogues(&store, "one", later(5)).await.unwrap();
        assert_eq!(differing, [node("b", later(10), "two")]);

        let mut tx = store.begin().await.unwrap();
        nodes::forget(&mut tx, "dead").await.unwrap();
        assert!(matches!(nodes::forget(&mut tx, "dead").await, Err(StoreError::Missing { noun: "node", .. })));
        tx.commit().await.unwrap();
        assert_eq!(nodes::list(&store, Page::default()).await.unwrap().len(), 2);
    })
    .await;
}
