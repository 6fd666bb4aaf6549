use crate::databases::on_both;
use crate::people::{NOW, later};
use store::node_requests::{self, NodeRequest};
use store::retention::{RowKind, clear};

fn request(id: &str) -> NodeRequest {
    NodeRequest { id: id.into(), kind: "log".into(), request: "{\"name\":\"acme/tiny#1\"}".into() }
}

#[tokio::test]
async fn a_request_is_answered_by_its_node_unless_it_is_too_old() {
    on_both(async |_, store| {
        let mut tx = store.begin().await.unwrap();
        for (id, at) in [("old", NOW), ("two", later(10)), ("one", later(10))] {
            node_requests::ask(&mut tx, "node_a", &request(id), at).await.unwrap();
        }
        tx.commit().await.unwrap();
        let open = async |node, kind, since| node_requests::list_open(&store, node, kind, since).await.unwrap();
        assert_eq!(open("node_b", "log", NOW).await, []);
        assert_eq!(open("node_a", "download", NOW).await, [], "another kind");
        assert_eq!(
            open("node_a", "log", later(5)).await,
            [request("one"), request("two")],
            "not the old one; those of one moment in the order of their ids"
        );
        assert_eq!(node_requests::read(&store, "one").await.unwrap(), None);

        let mut tx = store.begin().await.unwrap();
        for id in ["one", "gone"] {
            node_requests::respond(&mut tx, id, "{}").await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(node_requests::read(&store, "one").await.unwrap().as_deref(), Some("{}"));
        assert_eq!(open("node_a", "log", later(5)).await, [request("two")]);

        let mut tx = store.begin().await.unwrap();
        node_requests::remove(&mut tx, "one").await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(node_requests::read(&store, "one").await.unwrap(), None);
        assert_eq!(clear(&store, RowKind::NodeRequests, later(5)).await.unwrap(), 1, "the old one");
        assert_eq!(open("node_a", "log", NOW).await, [request("two")]);
    })
    .await;
}
