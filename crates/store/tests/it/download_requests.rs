use crate::databases::on_both;
use crate::people::{NOW, later};
use domain::{DownloadId, UserId};
use store::download_requests::{self, DownloadRequest};
use store::retention::{RowKind, clear};

fn request(id: &str) -> DownloadRequest {
    DownloadRequest {
        id: id.into(),
        download: DownloadId::new(NOW, 1),
        change: "cancel".into(),
        user: UserId::new(NOW, 1),
        address: "127.0.0.1".into(),
    }
}

#[tokio::test]
async fn a_request_is_answered_by_its_node_unless_it_is_too_old() {
    on_both(async |_, store| {
        let mut tx = store.begin().await.unwrap();
        download_requests::ask(&mut tx, "node_a", &request("old"), NOW).await.unwrap();
        download_requests::ask(&mut tx, "node_a", &request("one"), later(10)).await.unwrap();
        download_requests::ask(&mut tx, "node_a", &request("two"), later(11)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(download_requests::list_open(&store, "node_b", NOW).await.unwrap(), []);
        let open = download_requests::list_open(&store, "node_a", later(5)).await.unwrap();
        assert_eq!(open, [request("one"), request("two")], "without the one that is too old");
        assert_eq!(download_requests::read(&store, "one").await.unwrap(), None);

        let mut tx = store.begin().await.unwrap();
        download_requests::respond(&mut tx, "one", "{}").await.unwrap();
        download_requests::respond(&mut tx, "gone", "{}").await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(download_requests::read(&store, "one").await.unwrap().as_deref(), Some("{}"));
        assert_eq!(download_requests::list_open(&store, "node_a", later(5)).await.unwrap(), [request("two")]);

        let mut tx = store.begin().await.unwrap();
        download_requests::remove(&mut tx, "one").await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(download_requests::read(&store, "one").await.unwrap(), None);
        assert_eq!(clear(&store, RowKind::DownloadRequests, later(5)).await.unwrap(), 1, "the old one");
        assert_eq!(download_requests::list_open(&store, "node_a", NOW).await.unwrap(), [request("two")]);
    })
    .await;
}
