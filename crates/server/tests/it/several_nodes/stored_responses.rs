use serde_json::json;

use super::{Cluster, UNLIMITED};
use crate::app::{TIMEOUT, error_line, wait_until};
use crate::openai::stored_responses::{continuing, create, get, keep_for_days, last_messages, request};

#[tokio::test]
async fn a_response_of_one_node_is_continued_and_deleted_at_the_others_at_once() {
    let cluster = Cluster::start(UNLIMITED).await;
    let [first, second, third] = &cluster.nodes[..] else { panic!("three nodes") };
    let clients = [first, second, third].map(|node| node.client());
    keep_for_days(first, first.workspace().as_str(), json!(7)).await;
    for client in &clients {
        wait_until("the node knows the setting", TIMEOUT, async || {
            client.post_json("/responses", request("x")).await.json()["store"] == true
        })
        .await;
    }
    for round in 0..5 {
        let mut id = create(&clients[0], request(format!("round {round}")), true).await;
        let mut all = vec![id.clone()];
        for turn in 1..4 {
            id = create(&clients[turn % 3], continuing(&id, format!("turn {turn}")), true).await;
            all.push(id.clone());
        }
        let messages = last_messages(first);
        assert_eq!(messages.len(), 7, "{messages:?}");
        assert_eq!((messages[0].as_str(), messages[6].as_str()), (&*format!("user: round {round}"), "user: turn 3"));
        assert_eq!(get(&clients[2], &all[0]).await.status, 200);
        assert_eq!(clients[2].delete(&format!("/responses/{}", all[1])).await.status, 200);
        for client in &clients {
            assert_eq!(error_line(&get(client, &all[1]).await), "404 response_not_found");
            let broken = client.post_json("/responses", continuing(&id, "more")).await;
            assert_eq!(error_line(&broken), "404 previous_response_not_found previous_response_id");
        }
    }
    cluster.remove().await;
}
