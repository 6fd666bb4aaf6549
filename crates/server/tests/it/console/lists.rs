//! Lists that are searched, sorted, counted and read page by page.

use serde_json::{Value, json};

use super::person::{Person, error_of};
use crate::app::{TestApp, text};

/// The values of a member on all pages of a list, and the total of the first one.
async fn pages(person: &Person, path: &str, query: &str, member: &str) -> (Vec<String>, Value) {
    let (mut found, mut total, mut cursor) = (Vec::new(), Value::Null, String::new());
    loop {
        let page = person.read(&format!("{path}?{query}&limit=2&count=true&cursor={cursor}")).await;
        if cursor.is_empty() {
            total = page["total"].clone();
        }
        found.extend(page["data"].as_array().unwrap().iter().map(|one| text(&one[member]).to_owned()));
        match page["nextCursor"].as_str() {
            Some(next) => next.replace('/', "%2F").clone_into(&mut cursor),
            None => return (found, total),
        }
    }
}

#[tokio::test]
async fn keys_organizations_users_and_models_are_searched_and_sorted() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    for name in ["Web", "batch", "web 2"] {
        operator.make(&keys, json!({"name": name})).await;
    }
    for name in ["Umbra", "acme"] {
        operator.make("/api/organizations", json!({"name": name})).await;
    }
    Person::new(&app, "zoe", "member").await;
    for id in ["umbra/b", "umbra/a"] {
        operator.make("/api/operator/models", json!({"id": id, "upstreams": [{"url": app.engine().url()}]})).await;
    }

    let organizations = "/api/operator/organizations";
    for (path, query, member, expected) in [
        (keys.as_str(), "sort=name", "name", &["batch", "bootstrap", "Web", "web 2"][..]),
        (&keys, "sort=-name&search=WEB", "name", &["web 2", "Web"]),
        (&keys, "search=sk-", "name", &["bootstrap", "Web", "batch", "web 2"]),
        (&keys, "sort=-createdAt&counted=true", "name", &["web 2", "batch", "Web", "bootstrap"]),
        (&keys, "removedMembers=true", "name", &[]),
        (organizations, "sort=name", "name", &["acme", "Default", "Umbra"]),
        (organizations, "search=um", "name", &["Umbra"]),
        (organizations, "sort=-members&search=a", "name", &["Default", "acme", "Umbra"]),
        ("/api/users", "sort=-email", "email", &["zoe@example.com", "admin@localhost"]),
        ("/api/users", "search=ZOE", "email", &["zoe@example.com"]),
        ("/api/users", "search=default", "email", &["admin@localhost", "zoe@example.com"]),
        ("/api/operator/models", "search=umbra%2F&sort=-name", "id", &["umbra/b", "umbra/a"]),
        ("/api/operator/models", "search=umbra%2F&sort=name", "id", &["umbra/a", "umbra/b"]),
    ] {
        let (found, total) = pages(&operator, path, query, member).await;
        if query.starts_with("sort=-members") {
            assert_eq!((&found[0], found.len()), (&"Default".to_owned(), expected.len()), "{path}?{query}");
        } else {
            assert_eq!(found, expected, "{path}?{query}");
        }
        assert_eq!(total, json!(expected.len()), "{path}?{query}");
    }
    let plain = operator.read(&keys).await;
    assert_eq!(
        plain.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["data", "nextCursor"],
        "only if it is asked for"
    );
    let whole = operator.read("/api/operator/models").await;
    assert_eq!((&whole["nextCursor"], whole.get("total")), (&Value::Null, None), "everything without a limit");
}

#[tokio::test]
async fn a_sorted_list_goes_on_after_the_last_row_of_a_page_was_deleted_or_renamed() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    for name in ["Bee", "cat", "Dog", "Emu"] {
        operator.make("/api/organizations", json!({"name": name})).await;
    }
    let path = "/api/operator/organizations?sort=name&limit=2";
    for (delete, expected) in [(true, ["Default", "Dog"]), (false, ["Dog", "Emu"])] {
        let page = operator.read(path).await;
        let (last, cursor) = (&page["data"][1], text(&page["nextCursor"]));
        if delete {
            let path = format!("/api/organizations/{}", text(&last["id"]));
            assert_eq!(operator.delete(&path).await.status, 204, "{last}");
        } else {
            let path = format!("/api/operator/organizations/{}", text(&last["id"]));
            assert_eq!(operator.patch(&path, json!({"name": "Aal"})).await.status, 200, "{last}");
        }
        let next = operator.read(&format!("{path}&cursor={cursor}")).await;
        let names: Vec<&str> = next["data"].as_array().unwrap().iter().map(|one| text(&one["name"])).collect();
        assert_eq!(names, expected, "{last}");
    }
    for cursor in ["org_1.%25", "org_1.AA", "org%271.MQ"] {
        let page = operator.get(&format!("{path}&cursor={cursor}")).await;
        assert_eq!(error_of(&page), "422 invalid_value cursor", "{cursor}");
    }
    let of_another_order = "/api/operator/organizations?sort=members&cursor=org_1.Q2F0";
    assert_eq!(error_of(&operator.get(of_another_order).await), "422 invalid_value cursor");
}

#[tokio::test]
async fn a_list_of_models_goes_on_after_the_last_model_of_a_page_was_deleted() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let models = "/api/operator/models";
    for (sort, expected) in [("", "umbra/v1.6"), ("sort=name&", "umbra/v1.6"), ("sort=-name&", "umbra/v1.4")] {
        for id in ["umbra/v1.4", "umbra/v1.5", "umbra/v1.6"] {
            operator.make(models, json!({"id": id, "upstreams": [{"url": app.engine().url()}]})).await;
        }
        let path = format!("{models}?{sort}search=umbra%2F&limit=2");
        let page = operator.read(&path).await;
        assert_eq!(page["data"][1]["id"], "umbra/v1.5", "{sort}");
        assert_eq!(operator.delete(&format!("{models}/umbra%2Fv1.5")).await.status, 204);
        let cursor = text(&page["nextCursor"]).replace('/', "%2F");
        let next = operator.read(&format!("{path}&cursor={cursor}")).await;
        assert_eq!((&next["data"][0]["id"], &next["nextCursor"]), (&json!(expected), &Value::Null), "{sort}");
        for id in ["v1.4", "v1.6"] {
            assert_eq!(operator.delete(&format!("{models}/umbra%2F{id}")).await.status, 204);
        }
    }
}

#[tokio::test]
async fn an_invalid_search_is_rejected_with_its_field() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let long = format!("search={}", "a".repeat(101));
    let lists = [
        format!("/api/workspaces/{}/keys", app.workspace()),
        "/api/operator/organizations".to_owned(),
        "/api/operator/models".to_owned(),
        "/api/users".to_owned(),
    ];
    for path in &lists {
        for (query, expected) in [
            ("sort=colour", "422 invalid_value sort"),
            ("sort=name%20desc", "422 invalid_value sort"),
            ("count=yes", "422 invalid_value count"),
            ("search=%00", "422 invalid_value search"),
            ("limit=501", "422 invalid_value limit"),
            (&long, "422 invalid_value search"),
        ] {
            assert_eq!(error_of(&operator.get(&format!("{path}?{query}")).await), expected, "{path}?{query}");
        }
    }
    let invalid = operator.get("/api/operator/models?cursor=acme%2Fnone.%25").await;
    assert_eq!(error_of(&invalid), "422 invalid_value cursor");
    let sort = operator.get("/api/users?sort=colour").await;
    assert!(sort.text().contains("not one of `email`, `createdAt`"), "{}", sort.text());
}
