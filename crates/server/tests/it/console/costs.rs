//! Costs of a month: calls and GPU-hours.

use super::person::{Person, error_of};
use crate::app::{CHAT, TestApp, chat, text};
use crate::batches::{create, ended, lines};
use crate::dedicated::Plant;
use domain::NanoUsd;
use serde_json::{Value, json};

fn nanos(value: &Value) -> i64 {
    NanoUsd::parse(text(value)).unwrap_or_else(|error| panic!("{error}: {value}")).nanos()
}

#[tokio::test]
async fn the_month_the_days_and_the_invoice_are_the_sum_of_the_events() {
    let app = TestApp::start().await;
    for _ in 0..3 {
        assert_eq!(app.chat("hi").await.status, 200);
    }
    let cost: i64 = app.usage(3).await.iter().map(|event| event.cost.nanos()).sum();
    let person = Person::new(&app, "mia", "member").await;
    let base = format!("/api/workspaces/{}", app.workspace());

    let costs = person.read(&format!("{base}/costs")).await;
    assert_eq!(nanos(&costs["serverless"]["costUsd"]), cost, "to the nano-dollar");
    assert_eq!((nanos(&costs["total"]["costUsd"]), nanos(&costs["dedicated"]["costUsd"])), (cost, 0));
    let days = costs["days"].as_array().unwrap();
    assert_eq!(days.iter().map(|day| nanos(&day["totalUsd"])).sum::<i64>(), cost);
    assert!(text(&days[0]["day"]).ends_with("-01"), "a month begins with its first day");
    let month = text(&costs["month"]).to_owned();
    // In the first hour of a month there is no forecast.
    let forecast = &costs["total"]["forecastUsd"];
    assert!(forecast.is_null() || nanos(forecast) >= cost, "{costs}");

    let invoice = person.read(&format!("{base}/invoice?month={month}")).await;
    assert_eq!(
        (nanos(&invoice["totalUsd"]), &invoice["final"], &invoice["currency"]),
        (cost, &json!(false), &json!("USD"))
    );
    let line = &invoice["serverless"][0];
    assert_eq!((&line["model"], &line["requests"]), (&json!(CHAT), &json!(3)));
    let table = person.get(&format!("{base}/invoice?month={month}&format=csv")).await.text();
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!((rows.len(), rows[0].split(',').count()), (2, rows[1].split(',').count()));
    assert!(rows[1].contains(",Default,serverless,acme/tiny,,,,3,"), "{table}");
    assert_eq!(nanos(&json!(rows[1].rsplit(',').next())), cost);
    assert!(
        person.get(&format!("{base}/costs?format=csv")).await.text().starts_with("day,serverlessUsd,dedicatedUsd,")
    );

    assert!(costs.get("groups").is_none(), "{costs}");
    for (groups, names) in [
        ("model", &["model"][..]),
        ("key", &["key", "user"]),
        ("endUser", &["endUser", "endUserName"]),
        ("model,label:team", &["model", "label"]),
    ] {
        let grouped = person.read(&format!("{base}/costs?groupBy={groups}")).await;
        let lines = grouped["groups"].as_array().unwrap();
        assert_eq!(lines.iter().map(|line| nanos(&line["costUsd"])).sum::<i64>(), cost, "{grouped}");
        let line = lines[0].as_object().unwrap();
        assert!(names.iter().all(|name| line.contains_key(*name)), "{grouped}");
        assert_eq!((line["requests"].clone(), &grouped["days"]), (json!(3), &costs["days"]));
    }
    let table = person.get(&format!("{base}/costs?groupBy=model&format=csv")).await.text();
    assert!(table.starts_with("model,requests,") && table.lines().count() == 2, "{table}");

    let before = person.read(&format!("{base}/costs?month=2026-01&groupBy=model")).await;
    assert_eq!(before["groups"], json!([]));
    assert_eq!((&before["total"]["costUsd"], &before["total"]["forecastUsd"]), (&json!("0.00"), &json!("0.00")));
    assert_eq!(before["days"].as_array().unwrap().len(), 31);
    for (query, field) in [
        ("costs?month=2026-13", "month"),
        ("invoice?month=2999-01", "month"),
        ("costs?format=pdf", "format"),
        ("costs?groupBy=colour", "groupBy"),
        ("costs?month=2999-01&groupBy=model", "month"),
    ] {
        let response = person.get(&format!("{base}/{query}")).await;
        assert_eq!(error_of(&response), format!("422 invalid_value {field}"), "{query}");
    }
    let shown = app.admin(&format!("usage costs --workspace {}", app.workspace()));
    assert_eq!(shown["total"]["costUsd"], costs["total"]["costUsd"]);
    let printed = app.admin(&format!("usage invoice --workspace {} --month {month}", app.workspace()));
    assert_eq!(printed["totalUsd"], invoice["totalUsd"]);
}

#[tokio::test]
async fn flex_calls_and_batches_are_shown_apart() {
    let app = TestApp::setup().model("batch_discount = \"0.5\"").start().await;
    assert_eq!(app.chat("hi").await.status, 200);
    let mut flex = chat("hi");
    flex["service_tier"] = json!("flex");
    assert_eq!(app.ask(flex).await.status, 200);
    ended(&app.client(), &create(&app.client(), &lines(2)).await).await;
    app.usage(4).await;
    let person = Person::new(&app, "mia", "member").await;
    let base = format!("/api/workspaces/{}", app.workspace());
    let costs = person.read(&format!("{base}/costs")).await;
    let today = costs["days"].as_array().unwrap().last().unwrap();
    for classes in [&costs["classes"], &today["classes"]] {
        let parts = ["interactiveUsd", "flexUsd", "batchUsd"].map(|name| nanos(&classes[name]));
        assert_eq!(parts, [22_000, 11_000, 22_000], "{costs}");
    }
    assert_eq!(nanos(&costs["serverless"]["costUsd"]), 55_000);
    let invoice = person.read(&format!("{base}/invoice")).await;
    let lines = invoice["serverless"].as_array().unwrap();
    let shown: Vec<_> = lines.iter().map(|line| (text(&line["class"]), nanos(&line["costUsd"]))).collect();
    assert_eq!(shown, [("interactive", 22_000), ("flex", 11_000), ("batch", 22_000)]);
    assert_eq!(nanos(&invoice["totalUsd"]), 55_000);
    let table = person.get(&format!("{base}/invoice?format=csv")).await.text();
    assert_eq!(table.lines().filter(|row| row.contains(",batch,")).count(), 1, "{table}");
}

#[tokio::test]
async fn gpu_hours_cost_by_endpoint_and_type_for_those_who_may_see_them() {
    let plant = Plant::start(2, "").await;
    plant.create("chat", json!({"replicas": 2})).await;
    plant.wait_for("chat", "serving", 2).await;
    let app = &plant.app;
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    let costs = format!("/api/organizations/{organization}/gpu-costs");
    let (admin, member) = (Person::new(app, "ada", "admin").await, Person::new(app, "mia", "member").await);
    let report = admin.read(&format!("{costs}?groupBy=endpoint,gpuType")).await;
    let line = &report["data"][0];
    assert_eq!((&line["endpoint"], &line["gpuType"]), (&json!("chat"), &json!("local/cpu")));
    assert!(text(&line["endpointId"]).starts_with("ep_"));
    let (hours, usd) =
        (text(&line["gpuHours"]).parse::<f64>().unwrap(), text(&line["costUsd"]).parse::<f64>().unwrap());
    assert!(hours > 0.0 && (usd - hours * 3.6).abs() < 1e-6, "{line}");
    let busy = (&line["utilization"], &line["utilizationMeasured"]);
    assert_eq!(busy, (&json!(0.0), &json!(false)), "no window is over");
    assert!(nanos(&member.read(&costs).await["total"]["costUsd"]) > 0, "a member of its workspace sees it");
    let made = admin.make("/api/workspaces", json!({"name": "Other"})).await;
    let place = format!("{organization} --role member --workspace {}", text(&made["id"]));
    let outsider = Person::of_organization(app, "otto", &place).await;
    assert_eq!(outsider.read(&costs).await["total"]["gpuHours"], "0.0", "one of another workspace does not");
    let table = admin.get(&format!("{costs}?groupBy=day,endpoint&format=csv")).await.text();
    assert!(table.starts_with("day,endpointId,endpoint,gpuHours,costUsd,utilization\r\n"), "{table}");
    assert!(table.lines().nth(1).unwrap().ends_with(','), "not measured is not 0: {table}");
    let workspace = format!("/api/workspaces/{}", app.workspace());
    assert!(nanos(&member.read(&format!("{workspace}/costs")).await["dedicated"]["costUsd"]) > 0);
    let invoice = member.read(&format!("{workspace}/invoice")).await;
    assert_eq!(
        (&invoice["dedicated"][0]["flavor"], &invoice["dedicated"][0]["pricePerGpuHour"]),
        (&json!("one"), &json!("3.60"))
    );

    for (query, field) in [("groupBy=colour", "groupBy"), ("from=soon", "from"), ("format=pdf", "format")] {
        assert_eq!(error_of(&admin.get(&format!("{costs}?{query}")).await), format!("422 invalid_value {field}"));
    }
    let other = app.admin("organizations create --name Other");
    let stranger = Person::of_organization(app, "olga", &format!("{} --role admin", text(&other["id"]))).await;
    assert_eq!(error_of(&stranger.get(&costs).await), "404 not_found");
    let shown = app.admin(&format!("usage gpu-costs --organization {organization} --group-by endpoint"));
    assert_eq!(shown["data"][0]["endpoint"], "chat");
}
