//! Stored responses: what is kept, for whom, and for how long.

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::fake_engine::Script;
use testkit::http::{Client, Response};

use crate::app::{CHAT, CONTENT_KEY, Setup, TestApp, error_line, text};
use crate::console::person::Person;

/// What the engine says by default.
const REPLY: &str = "Hello Hello Hello ";

pub(super) fn with_key() -> Setup {
    TestApp::setup().environment("FOREBAY_CONTENT_KEY", CONTENT_KEY)
}

/// A gateway whose first workspace stores responses.
pub(super) async fn storing(setup: Setup) -> TestApp {
    let app = setup.start().await;
    keep_for_days(&app, &app.workspace().to_string(), json!(7)).await;
    app
}

pub(crate) async fn keep_for_days(app: &TestApp, workspace: &str, days: impl Into<Value>) {
    let (operator, path) = (Person::operator(app).await, format!("/api/workspaces/{workspace}"));
    let days: Value = days.into();
    let version = operator.read(&path).await["version"].clone();
    let changed = operator.patch(&path, json!({"version": version, "responseRetentionDays": days})).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
}

pub(crate) fn request(input: impl Into<Value>) -> Value {
    json!({"model": CHAT, "input": input.into()})
}

pub(crate) fn continuing(previous: &str, input: impl Into<Value>) -> Value {
    json!({"model": CHAT, "input": input.into(), "previous_response_id": previous})
}

/// The id of a new response, after checking whether it says that it is stored.
pub(crate) async fn create(client: &Client, body: Value, is_stored: bool) -> String {
    let response = client.post_json("/responses", body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let response = response.json();
    assert_eq!(response["store"], is_stored, "{response}");
    text(&response["id"]).to_owned()
}

pub(crate) async fn get(client: &Client, id: &str) -> Response {
    client.get(&format!("/responses/{id}")).await
}

/// The messages of the last call that the engine got, as `role: content`.
pub(crate) fn last_messages(app: &TestApp) -> Vec<String> {
    let body = app.engine().calls().last().unwrap().json();
    let shown = |message: &Value| format!("{}: {}", text(&message["role"]), text(&message["content"]));
    body["messages"].as_array().unwrap().iter().map(shown).collect()
}

#[tokio::test]
async fn a_stored_response_is_read_continued_and_deleted() {
    let app = storing(with_key()).await;
    let client = app.client();
    let response = client.post_json("/responses", request("one")).await.json();
    assert_eq!(response["store"], true, "{response}");
    let first = text(&response["id"]).to_owned();
    let read = get(&client, &first).await;
    assert_eq!((read.status.as_u16(), read.json()), (200, response));
    assert_eq!(read.header("content-type"), Some("application/json"));

    let mut second = continuing(&first, "two");
    second["instructions"] = json!("Be brief.");
    let second = create(&client, second, true).await;
    let reply = format!("assistant: {REPLY}");
    assert_eq!(last_messages(&app), ["system: Be brief.", "user: one", &reply, "user: two"]);
    create(&client, continuing(&second, "three"), true).await;
    let messages = last_messages(&app);
    assert_eq!(messages, ["user: one", &reply, "user: two", &reply, "user: three"], "instructions are not inherited");

    let items = client.get(&format!("/responses/{second}/input_items?order=asc")).await.json();
    let shown = |item: &Value| format!("{} {}", text(&item["role"]), text(&item["content"][0]["text"]));
    let data = items["data"].as_array().unwrap();
    let expected = ["user one".to_owned(), format!("assistant {REPLY}"), "user two".to_owned()];
    assert_eq!(data.iter().map(shown).collect::<Vec<_>>(), expected);
    assert_eq!((&items["object"], &items["has_more"]), (&json!("list"), &json!(false)));
    assert_eq!((&items["first_id"], &items["last_id"]), (&data[0]["id"], &data[2]["id"]));
    let after = text(&data[2]["id"]);
    let page = client.get(&format!("/responses/{second}/input_items?limit=1&after={after}")).await.json();
    assert_eq!((&page["data"][0]["id"], &page["has_more"]), (&data[1]["id"], &json!(true)), "newest first");
    let bad = client.get(&format!("/responses/{second}/input_items?limit=0")).await;
    assert_eq!(error_line(&bad), "422 invalid_value limit");

    let deleted = client.delete(&format!("/responses/{first}")).await;
    assert_eq!(deleted.status, 200);
    assert_eq!(deleted.json(), json!({"id": first, "object": "response", "deleted": true}));
    assert_eq!(error_line(&get(&client, &first).await), "404 response_not_found");
    assert_eq!(error_line(&client.delete(&format!("/responses/{first}")).await), "404 response_not_found");
    let broken = client.post_json("/responses", continuing(&second, "four")).await;
    assert_eq!(error_line(&broken), "404 previous_response_not_found previous_response_id");
    assert!(text(&broken.json()["error"]["message"]).contains(&first), "the missing one is named");
    assert_eq!(get(&client, &second).await.status, 200);
    assert_eq!(app.engine().calls().len(), 3);
    assert_eq!(app.usage(3).await.len(), 3, "reading is not billed");
}

#[tokio::test]
async fn nothing_is_stored_unless_the_workspace_the_operator_and_the_request_agree() {
    let app = with_key().start().await;
    let client = app.client();
    let id = create(&client, request("one"), false).await;
    let unknown = client.post_json("/responses", continuing(&id, "two")).await;
    assert_eq!(error_line(&unknown), "404 previous_response_not_found previous_response_id");
    let reference = json!([{"type": "item_reference", "id": "msg_1"}]);
    let unknown = client.post_json("/responses", request(reference)).await;
    assert_eq!(error_line(&unknown), "404 response_not_found input[0].id");
    assert!(text(&unknown.json()["error"]["message"]).contains("store = false"), "it says how to turn references off");
    assert_eq!(error_line(&get(&client, &id).await), "404 response_not_found");

    keep_for_days(&app, app.workspace().as_str(), json!(1)).await;
    assert_eq!(error_line(&get(&client, &id).await), "404 response_not_found", "it was not stored then");
    let mut unwanted = request("one");
    unwanted["store"] = json!(false);
    let unwanted = create(&client, unwanted, false).await;
    assert_eq!(error_line(&get(&client, &unwanted).await), "404 response_not_found");

    let stored = create(&client, request("one"), true).await;
    keep_for_days(&app, app.workspace().as_str(), Value::Null).await;
    assert_eq!(error_line(&get(&client, &stored).await), "404 response_not_found", "at once after turning it off");
    create(&client, request("one"), false).await;
}

#[tokio::test]
async fn responses_of_another_workspace_do_not_exist() {
    let app = storing(with_key()).await;
    let operator = Person::operator(&app).await;
    let other = operator.make("/api/workspaces", json!({"name": "Other"})).await;
    let other_id = text(&other["id"]);
    keep_for_days(&app, other_id, json!(7)).await;
    let key = app.admin(&format!("keys create --workspace {other_id} --name other"));
    let (own, stranger) = (app.client(), app.client_with(text(&key["key"])));
    let id = create(&own, request("one"), true).await;
    let item = text(&get(&own, &id).await.json()["output"][0]["id"]).to_owned();

    let missing = get(&stranger, "resp_missing").await.text();
    for path in [format!("/responses/{id}"), format!("/responses/{id}/input_items")] {
        let refused = stranger.get(&path).await;
        assert_eq!(error_line(&refused), "404 response_not_found");
        assert_eq!(refused.text().replace(&id, "resp_missing"), missing, "the same response as for an unknown id");
    }
    assert_eq!(error_line(&stranger.delete(&format!("/responses/{id}")).await), "404 response_not_found");
    let continued = stranger.post_json("/responses", continuing(&id, "two")).await;
    assert_eq!(error_line(&continued), "404 previous_response_not_found previous_response_id");
    let reference = json!([{"type": "item_reference", "id": item}]);
    let referred = stranger.post_json("/responses", request(reference.clone())).await;
    assert_eq!(error_line(&referred), "404 response_not_found input[0].id");

    assert_eq!(get(&own, &id).await.status, 200, "it was not deleted");
    assert_eq!(own.post_json("/responses", request(reference)).await.status, 200);
}

#[tokio::test]
async fn references_stand_for_stored_items_also_after_those_are_deleted() {
    let app = storing(with_key()).await;
    let client = app.client();
    let first = create(&client, request("one"), true).await;
    let item = text(&get(&client, &first).await.json()["output"][0]["id"]).to_owned();
    let input = json!([{"role": "user", "content": "one"}, {"type": "item_reference", "id": item},
        {"role": "user", "content": "two"}]);
    let second = create(&client, request(input), true).await;
    let reply = format!("assistant: {REPLY}");
    assert_eq!(last_messages(&app), ["user: one", &reply, "user: two"]);
    assert_eq!(client.delete(&format!("/responses/{first}")).await.status, 200);
    create(&client, continuing(&second, "three"), true).await;
    assert_eq!(last_messages(&app), ["user: one", &reply, "user: two", &reply, "user: three"]);
}

#[tokio::test]
async fn references_count_each_time() {
    let app = storing(with_key().edge("body_limit = \"128KiB\"").context_length(100_000)).await;
    let client = app.client();
    let id = create(&client, request("one"), true).await;
    let item = text(&get(&client, &id).await.json()["output"][0]["id"]).to_owned();
    let references = |count: usize| request(vec![json!({"type": "item_reference", "id": item}); count]);
    create(&client, references(50), true).await;
    assert_eq!(last_messages(&app).join("").matches(REPLY).count(), 50);
    for (count, why) in [(1_000, "have more than the 131072 bytes"), (1_025, "more than 1024 references")] {
        let rejected = client.post_json("/responses", references(count)).await;
        assert_eq!(error_line(&rejected), "413 payload_too_large");
        assert!(rejected.text().contains(why), "{}", rejected.text());
    }
    assert_eq!(app.engine().calls().len(), 2);
}

#[tokio::test]
async fn a_response_that_has_no_room_is_served_and_says_so() {
    let app = storing(with_key().store_line("responses_max_bytes = \"1MiB\"")).await;
    let client = app.client();
    let large = "x ".repeat(400_000);
    let stored = create(&client, request(large.clone()), true).await;
    let unstored = create(&client, request(large), false).await;
    assert_eq!(get(&client, &stored).await.status, 200);
    assert_eq!(error_line(&get(&client, &unstored).await), "404 response_not_found");
    assert_eq!(client.delete(&format!("/responses/{stored}")).await.status, 200);
    create(&client, request("small"), true).await;
}

/// The last event of a streamed response.
async fn last_event(client: &Client, mut body: Value) -> Value {
    body["stream"] = json!(true);
    let (events, clean) = client.open_stream("/responses", body).await.rest().await;
    assert!(clean, "{events:?}");
    events.last().unwrap().json()
}

#[tokio::test]
async fn a_streamed_response_is_stored_before_its_last_event() {
    let app = storing(with_key().store_line("responses_max_bytes = \"1MiB\"")).await;
    let client = app.client();
    let mut previous = Value::Null;
    for _ in 0..10 {
        let mut body = request("more");
        body["previous_response_id"] = previous;
        let event = last_event(&client, body).await;
        assert_eq!((&event["type"], &event["response"]["store"]), (&json!("response.completed"), &json!(true)));
        let id = text(&event["response"]["id"]);
        assert_eq!(get(&client, id).await.json(), event["response"]);
        previous = json!(id);
    }
    assert_eq!(last_messages(&app).len(), 19);

    let large = "x ".repeat(400_000);
    assert_eq!(last_event(&client, request(large.clone())).await["response"]["store"], true);
    let event = last_event(&client, request(large)).await;
    assert_eq!((&event["type"], &event["response"]["store"]), (&json!("response.completed"), &json!(false)));
    assert_eq!(error_line(&get(&client, text(&event["response"]["id"])).await), "404 response_not_found");
}

#[tokio::test]
async fn reasoning_comes_back_sealed_and_only_in_its_workspace() {
    let app = TestApp::start().await;
    let client = app.client();
    let other = app.admin(&format!(
        "workspaces create --organization {} --name Other",
        text(&app.forebay.bootstrap()["organizationId"])
    ));
    let key = app.admin(&format!("keys create --workspace {} --name other", text(&other["id"])));
    let message = json!({"role": "assistant", "content": "ok", "reasoning_content": "I see"});
    let completion = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}});
    app.engine().push(Script { raw_body: Some(completion.to_string()), ..Script::default() });
    let mut body = request("one");
    body["include"] = json!(["reasoning.encrypted_content"]);
    let response = client.post_json("/responses", body).await.json();
    let sealed = &response["output"][0]["encrypted_content"];
    assert_eq!(response["output"][0]["type"], "reasoning", "{response}");
    assert!(!text(sealed).is_empty() && !text(sealed).contains("see"), "{response}");
    let input = json!([{"type": "reasoning", "summary": [], "encrypted_content": sealed},
        {"role": "assistant", "content": "ok"}, {"role": "user", "content": "two"}]);
    let thought = async |client: &Client| {
        assert_eq!(client.post_json("/responses", request(input.clone())).await.status, 200);
        app.engine().calls().last().unwrap().json()["messages"][0]["reasoning_content"].clone()
    };
    assert_eq!(thought(&client).await, "I see", "also without a content key");
    assert_eq!(thought(&app.client_with(text(&key["key"]))).await, Value::Null);
}

#[tokio::test]
async fn reading_counts_as_requests_and_not_as_tokens() {
    let app = storing(with_key().workspace_limits(3, 1_000_000, 1_000_000)).await;
    let client = app.client();
    let id = create(&client, request("one"), true).await;
    let read = get(&client, &id).await;
    assert_eq!((read.status.as_u16(), read.header("x-ratelimit-limit-requests")), (200, Some("3")));
    let mut last = read;
    // A slow machine gives time for more of them.
    for _ in 0..20 {
        if last.status == 429 {
            break;
        }
        last = get(&client, &id).await;
    }
    assert_eq!(error_line(&last), "429 rate_limit_exceeded");
}

#[tokio::test]
async fn a_call_is_counted_once_and_before_its_conversation_is_loaded() {
    let app = storing(with_key().workspace_limits(2, 1_000_000, 1_000_000)).await;
    let client = app.client();
    let id = create(&client, request("one"), true).await;
    let mut unknown_model = continuing(&id, "two");
    unknown_model["model"] = json!("acme/unknown");
    assert_eq!(error_line(&client.post_json("/responses", unknown_model).await), "404 model_not_found model");
    create(&client, continuing(&id, "two"), true).await;
    let mut last = String::new();
    // A slow machine gives time for more of them.
    for _ in 0..20 {
        last = error_line(&client.post_json("/responses", continuing("resp_missing", "two")).await);
        if last.starts_with("429") {
            break;
        }
        assert_eq!(last, "404 previous_response_not_found previous_response_id");
    }
    assert_eq!(last, "429 rate_limit_exceeded", "also a call that finds nothing was counted");
}

#[tokio::test]
async fn what_the_model_does_not_read_is_not_stored() {
    let app = storing(with_key()).await;
    let client = app.client();
    let pad = "x".repeat(200_000);
    let padded = json!([{"role": "user", "content": "one", "pad": pad}]);
    let id = create(&client, request(padded), true).await;
    let items = client.get(&format!("/responses/{id}/input_items")).await.text();
    assert!(items.contains("one") && items.len() < 1_000, "{items}");
    let mut echoed = request("one");
    echoed["user"] = json!(pad);
    let rejected = client.post_json("/responses", echoed.clone()).await;
    assert_eq!(error_line(&rejected), "422 invalid_value input");
    echoed["store"] = json!(false);
    create(&client, echoed, false).await;
}

#[tokio::test]
async fn deletions_by_people_are_in_the_audit_log() {
    let app = storing(with_key()).await;
    let (client, operator) = (app.client(), Person::operator(&app).await);
    let [by_key, by_person] = [create(&client, request("a"), true).await, create(&client, request("b"), true).await];
    assert_eq!(client.delete(&format!("/responses/{by_key}")).await.status, 200);
    let browser = app.stranger().header("cookie", &operator.cookie);
    let browser = browser.header("x-workspace-id", app.workspace().as_str());
    let forged = browser.clone().delete(&format!("/responses/{by_person}")).await;
    assert_eq!(error_line(&forged), "403 csrf_failed");
    let browser = browser.header("x-csrf-token", &operator.csrf);
    assert_eq!(browser.delete(&format!("/responses/{by_person}")).await.status, 200);
    let organization = app.forebay.bootstrap()["organizationId"].clone();
    let list = format!("/api/organizations/{}/audit?action=response.delete", text(&organization));
    let list = operator.read(&list).await;
    let subjects: Vec<&Value> = list["data"].as_array().unwrap().iter().map(|entry| &entry["subject"]).collect();
    assert_eq!(subjects, [&json!(by_person)]);
}

#[tokio::test]
async fn a_conversation_goes_on_after_a_restart_and_with_the_next_key() {
    let folder = TempDir::new().unwrap();
    let app = storing(with_key().data_dir(folder.path())).await;
    let key = app.key.clone();
    let id = create(&app.client(), request("one"), true).await;
    drop(app);
    let keys = format!("ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=,{CONTENT_KEY}");
    let app = TestApp::setup().environment("FOREBAY_CONTENT_KEY", &keys).data_dir(folder.path()).start().await;
    let client = app.client_with(&key);
    create(&client, continuing(&id, "two"), true).await;
    assert_eq!(last_messages(&app), ["user: one", &format!("assistant: {REPLY}"), "user: two"]);
    drop(app);
    // Without the old key the content that it encrypts is gone, and the gateway serves.
    let only_new = keys.split(',').next().unwrap();
    let app = TestApp::setup().environment("FOREBAY_CONTENT_KEY", only_new).data_dir(folder.path()).start().await;
    assert_eq!(error_line(&get(&app.client_with(&key), &id).await), "404 response_not_found");
}
