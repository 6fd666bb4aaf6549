use super::{client, error_line};
use crate::app::{CHAT, EMBEDDING, TestApp};
use serde_json::{Value, json};

#[tokio::test]
async fn models_have_the_format_of_the_client() {
    let alias = "[[aliases]]\nname = \"claude-x\"\nmodel = \"acme/tiny\"";
    let app = TestApp::setup().table(alias).start().await;
    let list = client(&app).get("/models").await.json();
    let tiny = json!({"type": "model", "id": CHAT, "display_name": "Tiny", "created_at": "2026-01-01T00:00:00.000Z"});
    assert_eq!(list["data"][0], tiny);
    let ids: Vec<&Value> = list["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, [CHAT, EMBEDDING, "claude-x"]);
    assert_eq!(json!([list["has_more"], list["first_id"], list["last_id"]]), json!([false, CHAT, "claude-x"]));
    let page = client(&app).get(&format!("/models?limit=1&after_id={CHAT}")).await.json();
    assert_eq!(json!([page["has_more"], page["first_id"]]), json!([true, EMBEDDING]));
    assert_eq!(client(&app).get("/models/acme%2Ftiny").await.json(), tiny);
    let unknown = client(&app).get("/models/none").await;
    assert_eq!(error_line(&unknown), "404 not_found_error model_not_found model");
    assert_eq!(app.client().get("/models").await.json()["object"], "list", "other clients get the usual format");
}
