//! Pages, cursors and filters.

use serde_json::{Value, json};

use super::{create, fault, setup};
use crate::app::text;

fn names(body: &Value) -> Vec<String> {
    body["data"].as_array().unwrap().iter().map(|one| text(&one["name"]).to_owned()).collect()
}

#[tokio::test]
async fn pages_follow_each_other_newest_first() {
    let app = setup(16).start().await;
    let client = app.client();
    for name in ["a", "b", "c"] {
        create(&client, name, 1, json!({"labels": {"tier": name, "team": "x"}})).await;
    }
    let first = client.get("/endpoints?limit=2").await.json();
    assert_eq!(names(&first), ["c", "b"]);
    let cursor = text(&first["nextCursor"]);
    let second = client.get(&format!("/endpoints?limit=2&cursor={cursor}")).await.json();
    assert_eq!((names(&second), &second["nextCursor"]), (vec!["a".to_owned()], &json!(null)));
    assert_eq!(names(&client.get("/endpoints?label=tier%3Db&label=team%3Dx").await.json()), ["b"]);
    assert_eq!(names(&client.get("/endpoints?state=suspended").await.json()), [""; 0]);
    assert_eq!(names(&client.get("/endpoints?model=acme/dedicated&limit=1").await.json()), ["c"]);
    assert_eq!(names(&client.get("/endpoints?model=acme/other").await.json()), [""; 0]);

    let events = client.get("/endpoints/a/events?limit=1&type=endpoint.created").await.json();
    assert_eq!((events["data"].as_array().unwrap().len(), &events["nextCursor"]), (1, &json!(null)));
    let turned: String = cursor.chars().rev().collect();
    for bad in ["", "x", &turned, "AAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        assert_eq!(fault(&client.get(&format!("/endpoints?cursor={bad}")).await), "400 INVALID_CURSOR cursor");
    }
    let elsewhere = client.get(&format!("/endpoints/a/events?cursor={cursor}")).await;
    assert_eq!(fault(&elsewhere), "400 INVALID_CURSOR cursor");
    for (query, expected) in [
        ("limit=0", "422 OUT_OF_RANGE limit"),
        ("limit=101", "422 OUT_OF_RANGE limit"),
        ("limit=x", "422 INVALID_FORMAT limit"),
        ("state=asleep", "422 INVALID_FORMAT state"),
        ("model=tiny", "422 INVALID_FORMAT model"),
        ("label=tier", "422 INVALID_FORMAT label"),
    ] {
        assert_eq!(fault(&client.get(&format!("/endpoints?{query}")).await), expected, "{query}");
    }
    assert_eq!(fault(&client.get("/endpoints/a/events?type=nothing").await), "422 INVALID_FORMAT type");
    assert_eq!(fault(&client.get("/endpoints/flavors").await), "400 MISSING_FIELD model");
}
