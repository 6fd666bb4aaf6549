//! The same request twice is one change.

use serde_json::json;

use super::{act, committed, create, exceeded, fault, new_endpoint, problem, setup};

#[tokio::test]
async fn a_repeated_key_replays_the_first_response() {
    let app = setup(4).start().await;
    let client = app.client().header("idempotency-key", "one");
    let first = create(&client, "a", 2, json!({"replicas": 1})).await;
    assert_eq!((first.status.as_u16(), first.header("idempotent-replayed")), (201, None));
    let again = create(&client, "a", 2, json!({"replicas": 1})).await;
    assert_eq!((again.status.as_u16(), again.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!((again.text(), again.header("location")), (first.text(), first.header("location")));
    assert_eq!(committed(&client).await, 2);
    let other = create(&client, "a", 2, json!({"replicas": 2})).await;
    assert_eq!(problem(&other), "422 IDEMPOTENCY_KEY_REUSED");
    assert_eq!(problem(&act(&client, "/endpoints/a/suspend").await), "422 IDEMPOTENCY_KEY_REUSED");
}

#[tokio::test]
async fn a_rejected_request_can_be_retried_with_the_same_key() {
    let app = setup(2).start().await;
    let (client, keyed) = (app.client(), app.client().header("idempotency-key", "two"));
    create(&client, "a", 2, json!({"replicas": 1})).await;
    assert_eq!(exceeded(&create(&keyed, "b", 1, json!({"replicas": 1})).await), [2, 2, 3, 1]);
    act(&client, "/endpoints/a/suspend").await;
    assert_eq!(create(&keyed, "b", 1, json!({"replicas": 1})).await.status, 201);
}

#[tokio::test]
async fn a_key_is_text_of_at_most_255_characters() {
    let app = setup(2).start().await;
    for (length, expected) in [(255, ""), (256, "422 INVALID_FORMAT Idempotency-Key")] {
        let client = app.client().header("idempotency-key", &"k".repeat(length));
        let response = client.post_json("/endpoints", new_endpoint("a", 1, json!({}))).await;
        let found = if response.status == 201 { String::new() } else { fault(&response) };
        assert_eq!(found, expected);
    }
}
