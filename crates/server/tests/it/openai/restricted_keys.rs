//! Keys that may do less than their workspace: permissions, models and addresses.

use serde_json::{Value, json};
use testkit::http::{Client, Response};

use super::stored_responses::{create as respond, get, request, storing, with_key};
use crate::app::{CHAT, EMBEDDING, TestApp, chat, error_line, headers_but_ids, text, wait_until};
use crate::console::person::Person;
use crate::endpoints::{create, fault, new_endpoint, setup};

const WITHOUT_CHAT: [&str; 4] = ["/completions", "/rerank", "/score", "/detokenize"];

fn keys(app: &TestApp) -> String {
    format!("/api/workspaces/{}/keys", app.workspace())
}

/// A client with a new key.
async fn client_with(app: &TestApp, members: Value) -> Client {
    let mut body = json!({"name": "restricted"});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let made = Person::operator(app).await.make(&keys(app), body).await;
    app.client_with(text(&made["key"]))
}

/// Status, headers and body, without the request id and the model's name.
fn comparable(response: &Response, model: &str) -> String {
    let id = response.header("x-request-id").unwrap();
    let body = response.text().replace(id, "req_…").replace(model, "MODEL");
    let mut headers = headers_but_ids(response);
    for name in ["content-length", "request-id"] {
        headers.remove(name);
    }
    format!("{} {headers:?} {body}", response.status)
}

#[tokio::test]
async fn a_key_may_do_only_what_its_permissions_list() {
    let app = setup(4).start().await;
    let (inference, reading, writing) = (
        client_with(&app, json!({"permissions": ["inference"]})).await,
        client_with(&app, json!({"permissions": ["endpoints:read"]})).await,
        client_with(&app, json!({"permissions": ["endpoints:write"]})).await,
    );
    assert_eq!(inference.post_json("/chat/completions", chat("hi")).await.status, 200);
    for response in [inference.get("/endpoints").await, create(&inference, "a", 1, json!({})).await] {
        assert_eq!(fault(&response), "403 PERMISSION_DENIED The key does not have the permission `endpoints");
    }
    assert_eq!(fault(&create(&reading, "a", 1, json!({})).await).split(' ').nth(1), Some("PERMISSION_DENIED"));
    let dry = reading.post_json("/endpoints?dryRun=true", new_endpoint("a", 1, json!({}))).await;
    assert_eq!(dry.status, 403, "{}", dry.text());
    assert_eq!(create(&writing, "a", 1, json!({})).await.status, 201);
    for client in [&reading, &writing] {
        assert_eq!(client.get("/endpoints/a").await.status, 200);
        for path in ["/models", "/models/acme/tiny", "/responses/resp_1"] {
            assert_eq!(error_line(&client.get(path).await), "403 permission_denied", "{path}");
        }
        let chats = ["/chat/completions", "/responses", "/responses/input_tokens", "/tokenize"];
        for path in chats.into_iter().chain(WITHOUT_CHAT).chain(["/embeddings"]) {
            assert_eq!(error_line(&client.post_json(path, chat("hi")).await), "403 permission_denied", "{path}");
        }
        let messages = client.post_json("/messages", chat("hi")).await;
        assert_eq!((messages.status.as_u16(), &messages.json()["error"]["type"]), (403, &json!("permission_error")));
    }
    assert_eq!(app.engine().calls().len(), 1);
}

#[tokio::test]
async fn models_that_a_key_may_not_call_do_not_exist_for_it() {
    let aliases = "[[aliases]]\nname = \"gpt-6\"\nmodel = \"acme/tiny\"\n\n[[aliases]]\nname = \"claude-*\"\nmodel = \"acme/tiny\"";
    let app = storing(with_key().table(aliases)).await;
    let stored = respond(&app.client(), request("hi"), true).await;
    let client = client_with(&app, json!({"allowedModels": [EMBEDDING, "dedicated/*"]})).await;
    let ids = async |client: &Client| {
        let list = client.get("/models").await.json();
        list["data"].as_array().unwrap().iter().map(|model| text(&model["id"]).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&client).await, [EMBEDDING]);
    let anthropic = client.clone().header("anthropic-version", "2023-06-01");
    assert_eq!(ids(&anthropic).await, [EMBEDDING]);
    assert_eq!(client.get("/models/acme/embed").await.status, 200);
    assert_eq!(client.post_json("/embeddings", json!({"model": EMBEDDING, "input": "hi"})).await.status, 200);
    let call = |model: &str| json!({"model": model, "max_tokens": 5, "input": "hi", "messages": [{"role": "user", "content": "hi"}]});
    let of_texts = |model: &str| json!({"model": model, "prompt": "hi", "query": "q", "queries": "q", "documents": ["a"], "tokens": [1]});
    let chats = [
        "/chat/completions",
        "/embeddings",
        "/responses",
        "/responses/input_tokens",
        "/messages",
        "/messages/count_tokens",
        "/tokenize",
    ];
    let chats = chats.map(|path| (path, &call as &dyn Fn(&str) -> Value));
    for (path, call) in chats.into_iter().chain(WITHOUT_CHAT.map(|path| (path, &of_texts as &dyn Fn(&str) -> Value))) {
        let unknown = client.post_json(path, call("acme/unknown")).await;
        assert_eq!((unknown.status.as_u16(), &unknown.json()["error"]["code"]), (404, &json!("model_not_found")));
        for model in [CHAT, "gpt-6", "claude-opus"] {
            let hidden = client.post_json(path, call(model)).await;
            assert_eq!(comparable(&hidden, model), comparable(&unknown, "acme/unknown"), "{path} {model}");
        }
    }
    for client in [&client, &anthropic] {
        for model in [CHAT, "gpt-6"] {
            let hidden = client.get(&format!("/models/{model}")).await;
            let unknown = client.get("/models/acme/unknown").await;
            assert_eq!(comparable(&hidden, model), comparable(&unknown, "acme/unknown"));
        }
    }
    for response in [get(&client, &stored).await, client.delete(&format!("/responses/{stored}")).await] {
        assert_eq!(error_line(&response), "404 model_not_found model");
    }
    assert_eq!(error_line(&client.get(&format!("/responses/{stored}/input_items")).await), "404 model_not_found model");
    assert_eq!(error_line(&get(&client, "resp_unknown").await), "404 response_not_found");
    assert_eq!(app.engine().calls().len(), 2, "the stored response and the embedding");

    // What an entry names is the model behind an alias, by whatever name it is called.
    for entry in ["gpt-6", "gpt-*", "claude-*", "claude-opus", "acme/t*", "*"] {
        let client = client_with(&app, json!({"allowedModels": [entry]})).await;
        for model in [CHAT, "gpt-6", "claude-opus"] {
            let served = client.post_json("/chat/completions", call(model)).await;
            assert_eq!(served.status, 200, "{entry} {model}: {}", served.text());
        }
        assert_eq!(get(&client, &stored).await.status, 200);
        assert_eq!(ids(&client).await.contains(&EMBEDDING.to_owned()), entry == "*", "{entry}");
    }
}

#[tokio::test]
async fn a_key_works_only_from_its_addresses() {
    let app = TestApp::setup().server("trusted_proxies = [\"127.0.0.1\"]").start().await;
    let person = Person::operator(&app).await;
    let body = json!({"name": "office", "allowedIps": ["203.0.113.0/24", "2001:db8::1"]});
    let made = person.make(&keys(&app), body).await;
    let from = |address: &str| app.client_with(text(&made["key"])).header("x-forwarded-for", address);
    for address in ["203.0.113.9", "2001:db8::1"] {
        assert_eq!(from(address).post_json("/chat/completions", chat("hi")).await.status, 200, "{address}");
    }
    let unknown = app.client_with(&format!("sk-abcdefghijkl-{}", "a".repeat(32)));
    for path in ["/models", "/endpoints"] {
        let invalid = unknown.get(path).await;
        for client in [from("203.0.114.1"), from("2001:db8::2"), app.client_with(text(&made["key"]))] {
            assert_eq!(comparable(&client.get(path).await, "-"), comparable(&invalid, "-"), "{path}");
        }
    }
    let path = format!("{}/{}", keys(&app), text(&made["id"]));
    assert_eq!(person.patch(&path, json!({"allowedIps": null})).await.json()["allowedIps"], Value::Null);
    wait_until("it works from anywhere", crate::app::TIMEOUT, async || {
        from("203.0.114.1").get("/models").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn a_conversation_of_a_model_that_a_key_may_not_call_cannot_be_continued() {
    let other = "[[models]]\nid = \"acme/other\"\nupstreams = [{ url = \"http://127.0.0.1:9/v1\" }]";
    let app = storing(with_key().table(other)).await;
    let stored = respond(&app.client(), request("hi"), true).await;
    let client = client_with(&app, json!({"allowedModels": ["acme/other"]})).await;
    let body = json!({"model": "acme/other", "input": "repeat it", "previous_response_id": stored});
    assert_eq!(error_line(&client.post_json("/responses", body).await), "404 model_not_found model");
    let item = get(&app.client(), &stored).await.json()["output"][0]["id"].clone();
    let body = json!({"model": "acme/other", "input": [{"type": "item_reference", "id": item}]});
    assert_eq!(error_line(&client.post_json("/responses", body).await), "404 model_not_found model");
}

#[tokio::test]
async fn an_alias_that_the_workspace_hides_admits_no_model() {
    let alias = "[[aliases]]\nname = \"gpt-6\"\nmodel = \"acme/tiny\"";
    let app = TestApp::setup().table(alias).start().await;
    let client = client_with(&app, json!({"allowedModels": ["gpt-*"]})).await;
    assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status, 200);
    let path = format!("/api/workspaces/{}/aliases/gpt-*", app.workspace());
    let put = Person::operator(&app).await.put(&path, json!({"model": EMBEDDING})).await;
    assert_eq!(put.status, 200, "{}", put.text());
    wait_until("the alias is hidden", crate::app::TIMEOUT, async || {
        client.post_json("/chat/completions", chat("hi")).await.status == 404
    })
    .await;
    assert_eq!(client.post_json("/embeddings", json!({"model": EMBEDDING, "input": "hi"})).await.status, 200);
}
