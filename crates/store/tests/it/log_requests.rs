use crate::databases::on_both;
use crate::people::{NOW, later};
use store::log_requests::{self, LogRequest, LogResponse};
use store::retention::{RowKind, clear};

fn request(id: &str) -> LogRequest {
    LogRequest { id: id.into(), name: "acme/tiny#1".into(), max_bytes: 100, search: "error".into() }
}

#[tokio::test]
async fn a_request_is_answered_by_its_node_and_removed_by_the_one_that_asked() {
    on_both(async |_, store| {
        let mut tx = store.begin().await.unwrap();
        for id in ["one", "two", "three"] {
            log_requests::ask(&mut tx, "node_a", &request(id), later(10)).await.unwrap();
        }
        log_requests::ask(&mut tx, "node_stopped", &request("old"), NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(log_requests::read(&store, "one").await.unwrap(), LogResponse::Pending);
        assert_eq!(log_requests::list_open(&store, "node_b").await.unwrap(), []);
        let open = log_requests::list_open(&store, "node_a").await.unwrap();
        assert!(open.len() == 3 && open.contains(&request("one")), "{open:?}");

        let mut tx = store.begin().await.unwrap();
        log_requests::respond(&mut tx, "one", Some("an error\0\n"), later(11)).await.unwrap();
        log_requests::respond(&mut tx, "two", None, later(11)).await.unwrap();
        log_requests::respond(&mut tx, "gone", None, later(11)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(log_requests::read(&store, "one").await.unwrap(), LogResponse::Text("an error\u{fffd}\n".into()));
        assert_eq!(log_requests::read(&store, "two").await.unwrap(), LogResponse::Missing);
        assert_eq!(log_requests::list_open(&store, "node_a").await.unwrap(), [request("three")]);

        let mut tx = store.begin().await.unwrap();
        log_requests::remove(&mut tx, "one", later(5)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(log_requests::read(&store, "one").await.unwrap(), LogResponse::Pending);
        assert_eq!(log_requests::list_open(&store, "node_stopped").await.unwrap(), [], "too old");
        assert_eq!(log_requests::list_open(&store, "node_a").await.unwrap(), [request("three")]);
    })
    .await;
}

#[tokio::test]
async fn a_response_that_is_no_longer_waited_for_is_deleted() {
    on_both(async |_, store| {
        let mut tx = store.begin().await.unwrap();
        log_requests::ask(&mut tx, "node_a", &request("left"), NOW).await.unwrap();
        log_requests::ask(&mut tx, "node_a", &request("new"), later(10)).await.unwrap();
        log_requests::respond(&mut tx, "left", Some("an error\n"), later(1)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(clear(&store, RowKind::LogRequests, later(5)).await.unwrap(), 1);
        assert_eq!(log_requests::read(&store, "left").await.unwrap(), LogResponse::Pending, "it is gone");
        assert_eq!(log_requests::list_open(&store, "node_a").await.unwrap(), [request("new")]);
    })
    .await;
}
