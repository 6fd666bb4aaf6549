//! `/metrics` checked with Prometheus' own tools, and the alerts and the dashboard of this repository.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::fake_engine::Script;
use testkit::http::Client;

use crate::app::{EMBEDDING, TIMEOUT, TestApp, stream, wait_until};
use crate::guards::read;

/// A family as it is documented or exported.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Family {
    kind: String,
    labels: BTreeSet<String>,
}

type Families = BTreeMap<String, Family>;

const VALUES_OF_LABELS: &str = "\n## Values of labels\n";

/// The rows of the tables of docs/metrics.md.
fn documented() -> Families {
    let page = read("docs/metrics.md");
    let (families, _) = page.split_once(VALUES_OF_LABELS).unwrap();
    let rows = families.lines().filter(|line| line.starts_with("| `"));
    let family = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let labels = cells[3].split('`').filter(|label| !label.trim().is_empty()).map(str::to_owned).collect();
        (cells[1].trim_matches('`').to_owned(), Family { kind: cells[2].to_owned(), labels })
    };
    rows.map(family).collect()
}

/// The families of a page of metrics, with the labels of their samples.
fn exported(page: &str) -> Families {
    let mut families = Families::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            let known = families.insert(name.to_owned(), Family { kind: kind.to_owned(), labels: BTreeSet::new() });
            assert!(known.is_none(), "{name} is a duplicate");
        } else if !line.starts_with('#') {
            let (name, labels) = sample(line);
            let family = family_of(&families, &name).unwrap_or_else(|| panic!("{name} belongs to no family"));
            families.get_mut(&family).unwrap().labels.extend(labels);
        }
    }
    families
}

/// The values of a label of a family: (name, label, value).
type LabelValues = BTreeSet<(String, String, String)>;

/// The rows of the table of docs/metrics.md that lists them.
fn documented_values() -> LabelValues {
    let page = read("docs/metrics.md");
    let (_, values) = page.split_once(VALUES_OF_LABELS).unwrap();
    let rows = values.lines().filter(|line| line.starts_with("| `"));
    let words = rows.flat_map(|row| {
        let words: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let (family, values) = words.split_at(2);
        let (name, label) = (family[0].to_owned(), family[1].to_owned());
        values.iter().map(|value| (name.clone(), label.clone(), (*value).to_owned())).collect::<Vec<_>>()
    });
    words.collect()
}

/// The values on a page of metrics, except of labels that depend on workspaces, models, machines and errors.
fn exported_values(page: &str) -> LabelValues {
    let open = ["workspace", "model", "replica", "organization", "gpu_type", "version", "status", "code", "le"];
    let samples = page.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('{'));
    let values = samples.flat_map(|(name, rest)| {
        let labels = rest.rsplit_once('}').unwrap().0.split("\",");
        let pairs = labels.filter_map(|pair| pair.trim_end_matches('"').split_once("=\""));
        pairs.map(|(label, value)| (name.to_owned(), label.to_owned(), value.to_owned())).collect::<Vec<_>>()
    });
    values.filter(|(_, label, _)| !open.contains(&label.as_str())).collect()
}

/// Routes have a test beside their names; of the other exceptions a server has no samples unless it needs them.
fn compare_values(page: &str) {
    let (exported, mut documented) = (exported_values(page), documented_values());
    let undocumented: Vec<_> = exported.difference(&documented).collect();
    assert!(undocumented.is_empty(), "not documented: {undocumented:?}");
    let incomplete = [
        "forebay_requests_total",
        "forebay_failovers_total",
        "forebay_endpoint_replicas",
        "forebay_trace_spans_dropped_total",
    ];
    documented.retain(|(name, ..)| !incomplete.contains(&name.as_str()));
    let unknown: Vec<_> = documented.difference(&exported).collect();
    assert!(unknown.is_empty(), "documented, and not exported: {unknown:?}");
}

/// The name of a sample, and the names of its labels.
fn sample(line: &str) -> (String, Vec<String>) {
    let (name, rest) = line.split_once(['{', ' ']).unwrap();
    let labels = rest.rsplit_once('}').map_or("", |(labels, _)| labels);
    let names = labels.split("=\"").map(|piece| piece.rsplit(',').next().unwrap().to_owned());
    let names = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && name != "le");
    (name.to_owned(), names.filter(|name| !name.is_empty()).collect())
}

/// The family of a sample: histograms have several names.
fn family_of(families: &Families, sample: &str) -> Option<String> {
    let of_histogram = ["_bucket", "_sum", "_count"].iter().filter_map(|suffix| sample.strip_suffix(suffix));
    let mut candidates = std::iter::once(sample).chain(of_histogram);
    candidates.find(|name| families.contains_key(*name)).map(str::to_owned)
}

/// A server that has served and rejected calls of every kind, and its metrics.
async fn busy_server() -> (TestApp, String) {
    let app = TestApp::start().await;
    app.chat("hi").await;
    app.ask(stream("hi")).await;
    app.embed(serde_json::json!({"model": EMBEDDING, "input": "hi"})).await;
    app.stranger().get("/models").await;
    app.engine().push(Script { status: Some(500), ..Script::default() });
    app.chat("hi").await;
    let ops = Client::new(app.forebay.ops);
    let mut page = String::new();
    wait_until("calls and quota are reported", TIMEOUT, async || {
        page = ops.get("/metrics").await.text();
        page.contains("bad_gateway") && page.contains("forebay_quota_used_tokens{")
    })
    .await;
    (app, page)
}

/// Runs promtool with this input. It is part of Debian's package `prometheus`: scripts/system-packages test
fn promtool(arguments: &[&str], input: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("promtool");
    command.args(arguments).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool of Debian's package `prometheus` is needed");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(output.status.success(), "promtool {arguments:?}: {text}");
    text
}

#[tokio::test]
async fn every_exported_name_and_label_is_documented_and_every_documented_one_exists() {
    let (_app, page) = busy_server().await;
    compare_values(&page);
    let (exported, documented) = (exported(&page), documented());
    assert!(documented.len() > 40, "{documented:#?}");
    let names = |families: &Families| families.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&exported), names(&documented));
    for (name, family) in &exported {
        assert_eq!(family.kind, documented[name].kind, "{name}");
        // Families of what this server does not have, such as endpoints, have no samples.
        if !family.labels.is_empty() {
            assert_eq!(family.labels, documented[name].labels, "{name}");
        }
    }
}

#[tokio::test]
async fn promtool_finds_nothing_wrong_with_a_server_that_has_served_calls() {
    let (app, page) = busy_server().await;
    assert_eq!(promtool(&["check", "metrics"], &page), "");
    let response = Client::new(app.forebay.ops).get("/metrics").await;
    assert_eq!(response.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(!page.contains("key_") && !page.contains("usr_") && !page.contains("req_"), "{page}");
}

/// The expressions of the dashboard, with Grafana's variables replaced.
fn dashboard_expressions() -> Vec<String> {
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            Value::Object(members) => {
                found.extend(members.get("expr").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| collect(value, found));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    collect(&serde_json::from_str(&read("deploy/grafana/forebay.json")).unwrap(), &mut found);
    found.iter().map(|expression| expression.replace("$__rate_interval", "5m")).collect()
}

/// The words that look like names of metrics.
fn names_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("forebay_") || word.starts_with("process_")).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_and_the_alerts_use_only_documented_names() {
    let (documented, expressions) = (documented(), dashboard_expressions());
    assert!(expressions.len() > 40, "{expressions:#?}");
    let texts = [
        ("the dashboard", expressions.join("\n")),
        ("its variables", read("deploy/grafana/forebay.json")),
        ("the alerts", read("deploy/prometheus/alerts.yml")),
        ("their tests", read("deploy/prometheus/alerts_test.yml")),
        ("the documentation's queries", read("docs/metrics.md")),
    ];
    for (place, text) in texts {
        let names = names_in(&text);
        assert!(!names.is_empty(), "{place}");
        for name in names {
            assert!(family_of(&documented, &name).is_some(), "{place}: {name} is not documented");
        }
    }
    let used = names_in(&expressions.join("\n"));
    let unused = documented.keys().filter(|name| !used.iter().any(|used| used.starts_with(name.as_str())));
    let left_out = ["forebay_metrics_label_sets", "forebay_store_up", "process_max_fds", "process_start_time_seconds"];
    let left_out = left_out.into_iter().chain(["process_threads", "process_virtual_memory_bytes"]);
    assert_eq!(unused.map(String::as_str).collect::<BTreeSet<_>>(), left_out.collect(), "not on the dashboard");
}

#[test]
fn promtool_can_read_every_query_of_the_dashboard() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("dashboard.yml");
    let quoted = |text: &String| serde_json::to_string(text).unwrap();
    let expressions = dashboard_expressions();
    let rules = expressions.iter().enumerate().map(|(number, expression)| {
        format!("      - {{ record: 'dashboard:{number}', expr: {} }}\n", quoted(expression))
    });
    let rules: String = rules.collect();
    std::fs::write(&file, format!("groups:\n  - name: dashboard\n    rules:\n{rules}")).unwrap();
    let report = promtool(&["check", "rules", file.to_str().unwrap()], "");
    assert!(report.contains("rules found"), "{report}");
}

#[test]
fn promtool_accepts_the_alerts_and_their_tests_and_each_alert_is_documented() {
    let report = promtool(&["check", "rules", "deploy/prometheus/alerts.yml"], "");
    let alerts = read("deploy/prometheus/alerts.yml");
    let names: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(report.contains(&format!("{} rules found", names.len())), "{report}");
    promtool(&["test", "rules", "deploy/prometheus/alerts_test.yml"], "");
    let (tests, advice) = (read("deploy/prometheus/alerts_test.yml"), read("docs/operations.md"));
    for name in &names {
        assert!(tests.contains(name), "{name} is never raised by the tests");
        assert!(advice.contains(&format!("| `{name}` |")), "docs/operations.md does not say what to do about {name}");
    }
    let advised = advice.lines().filter(|line| line.starts_with("| `Forebay")).count();
    assert_eq!(advised, names.len(), "docs/operations.md documents alerts that do not exist");
}
