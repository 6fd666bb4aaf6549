use crate::NOW;
use crate::databases::on_both;
use control::CommandError;
use control::engine_logs::LogPart;
use control::node_requests::{self, Request as _, Unwritten};
use store::node_requests::NodeRequest;

#[tokio::test]
async fn a_request_that_fails_does_not_delay_the_others() {
    on_both(async |_, store| {
        let mut tx = store.begin().await.unwrap();
        for (at, id) in (0..).zip(["1", "2", "3"]) {
            let part = LogPart { name: id.to_owned(), max_bytes: 1, search: String::new(), may_be_sealed: false };
            let request = serde_json::to_string(&part).unwrap();
            let request = NodeRequest { id: id.to_owned(), kind: LogPart::KIND.to_owned(), request };
            store::node_requests::ask(&mut tx, "node_a", &request, NOW.plus_millis(at)).await.unwrap();
        }
        tx.commit().await.unwrap();
        let read = |part: LogPart| async move {
            match part.name.as_str() {
                "3" => Ok(Some("a line".to_owned())),
                name => Err(CommandError::NodeUnresponsive { node: name.to_owned() }),
            }
        };
        let responded = node_requests::respond(&store, "node_a", &mut Unwritten::default(), NOW, read).await;
        assert!(matches!(responded, Err(CommandError::NodeUnresponsive { node }) if node == "1"), "the first failure");
        let response = async |id| store::node_requests::read(&store, id).await.unwrap();
        assert_eq!(response("1").await, None);
        assert_eq!(response("3").await.as_deref(), Some("\"a line\""));
    })
    .await;
}
