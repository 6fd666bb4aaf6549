//! Which calls are counted under which labels.

use super::*;
use dataplane::record::{Failovers, NotContinued, Outcome};
use domain::model::{Model, Upstream};
use domain::usage::{Actor, Certainty, Tokens};
use domain::{CallClass, Caller, KeyId, ModelId, NanoUsd, OrganizationId, RequestId, Timestamp, WorkspaceId};
use expect_test::expect;
use fleet::{Backend, Pool, Route};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(0);

/// A stream of 11 tokens that was served within a second.
fn record(workspace: u128, model: &str) -> CallRecord {
    let actor = Actor::Key(KeyId::new(NOW, 1));
    let caller = Caller::new(OrganizationId::new(NOW, 1), WorkspaceId::new(NOW, workspace), actor);
    let model = Model::plain(ModelId::parse(model).unwrap());
    let upstream = Upstream::plain("http://127.0.0.1:9/v1", "m");
    CallRecord {
        request: RequestId::new(NOW, 1),
        client_request: None,
        route: "chat",
        end_user: None,
        caller: Some(Arc::new(caller)),
        model: Some(Arc::new(Route { model: Arc::new(model), pool: Pool::default() })),
        class: CallClass::default(),
        search_price: NanoUsd::ZERO,
        requested_model: None,
        replica: Some(Arc::new(Backend::new("r", upstream).unwrap())),
        streamed: true,
        started_at: NOW,
        sent: None,
        first_byte: Some(Duration::from_millis(100)),
        held: None,
        duration: Duration::from_millis(1_100),
        outcome: Outcome::Served,
        tokens: Tokens { prompt: 5, completion: 11, cached: 0 },
        certainty: Certainty::Exact,
        failovers: Failovers::default(),
        cause: None,
    }
}

#[test]
fn streams_that_lost_their_replica_are_counted_by_outcome() {
    let calls = Arc::new(Calls::new(1, 10));
    let core = calls.on_core(0);
    core.count(&record(1, "acme/a"));
    assert_eq!(shown(&calls, "forebay_failovers_total"), "");
    let failovers = Failovers { continued: 2, not_continued: Some(NotContinued::TooOften) };
    core.count(&CallRecord { failovers, ..record(1, "acme/a") });
    let page = shown(&calls, "forebay_failovers_total");
    for (outcome, count) in [("continued", 2), ("not_possible", 0), ("no_replica", 0), ("too_often", 1)] {
        assert!(page.contains(&format!("outcome=\"{outcome}\"}} {count}")), "{page}");
    }
}

/// The samples whose lines start with `start`, with workspaces as numbers.
fn shown(calls: &Calls, start: &str) -> String {
    let mut page = Page::default();
    calls.write(&mut page);
    let text = page.finish();
    let lines = text.lines().filter(|line| line.starts_with(start));
    lines.map(|line| line.replace("ws_0000000000000000000000000", "")).collect::<Vec<_>>().join("\n")
}

#[test]
fn calls_are_counted_by_workspace_model_and_outcome_on_every_core() {
    let calls = Arc::new(Calls::new(2, 10));
    for core in [0, 1, 1, 7] {
        calls.on_core(core).count(&record(1, "acme/tiny"));
    }
    let rejected = |status, code| CallRecord {
        outcome: Outcome::Rejected { status, code },
        replica: None,
        ..record(1, "acme/tiny")
    };
    calls.on_core(0).count(&rejected(429, "rate_limit_exceeded"));
    calls.on_core(1).count(&rejected(429, "rate_limit_exceeded"));
    calls.on_core(0).count(&CallRecord { caller: None, model: None, ..rejected(401, "invalid_api_key") });
    calls.on_core(0).count(&record(2, "acme/tiny"));
    expect![[r#"
        forebay_requests_total{route="chat",workspace="",model="",status="401",code="invalid_api_key"} 1
        forebay_requests_total{route="chat",workspace="1",model="acme/tiny",status="200",code=""} 4
        forebay_requests_total{route="chat",workspace="1",model="acme/tiny",status="429",code="rate_limit_exceeded"} 2
        forebay_requests_total{route="chat",workspace="2",model="acme/tiny",status="200",code=""} 1"#]]
    .assert_eq(&shown(&calls, "forebay_requests"));
    expect![[r#"
        forebay_tokens_total{workspace="1",model="acme/tiny",kind="prompt"} 20
        forebay_tokens_total{workspace="1",model="acme/tiny",kind="completion"} 44
        forebay_tokens_total{workspace="1",model="acme/tiny",kind="cached"} 0
        forebay_tokens_total{workspace="2",model="acme/tiny",kind="prompt"} 5
        forebay_tokens_total{workspace="2",model="acme/tiny",kind="completion"} 11
        forebay_tokens_total{workspace="2",model="acme/tiny",kind="cached"} 0"#]]
    .assert_eq(&shown(&calls, "forebay_tokens"));
    assert_eq!(shown(&calls, "forebay_metrics_label_sets"), "forebay_metrics_label_sets 3");
}

#[test]
fn timings_are_per_model_and_only_present_if_they_apply() {
    let calls = Arc::new(Calls::new(1, 10));
    let core = calls.on_core(0);
    core.count(&record(1, "acme/tiny"));
    core.count(&CallRecord { streamed: false, ..record(1, "acme/tiny") });
    core.count(&CallRecord { tokens: Tokens { completion: 1, ..Tokens::default() }, ..record(2, "acme/tiny") });
    core.count(&CallRecord { replica: None, held: Some(Duration::from_secs(3)), ..record(2, "dedicated/mine") });
    expect![[r#"
        forebay_request_duration_seconds_sum{model="acme/tiny"} 3.3
        forebay_request_duration_seconds_count{model="acme/tiny"} 3
        forebay_time_to_first_token_seconds_sum{model="acme/tiny"} 0.2
        forebay_time_to_first_token_seconds_count{model="acme/tiny"} 2
        forebay_time_per_output_token_seconds_sum{model="acme/tiny"} 0.1
        forebay_time_per_output_token_seconds_count{model="acme/tiny"} 1
        forebay_hold_duration_seconds_sum{model="dedicated/mine"} 3
        forebay_hold_duration_seconds_count{model="dedicated/mine"} 1"#]]
    .assert_eq(
        &shown(&calls, "")
            .lines()
            .filter(|line| line.contains("seconds_sum") || line.contains("seconds_count"))
            .collect::<Vec<_>>()
            .join("\n"),
    );
}

#[test]
fn pairs_beyond_the_bound_count_as_other_and_sums_per_model_stay_correct() {
    let calls = Arc::new(Calls::new(1, 2));
    let core = calls.on_core(0);
    for workspace in 1..=5 {
        core.count(&record(workspace, "acme/tiny"));
        core.count(&record(workspace, "dedicated/mine"));
    }
    core.count(&record(1, "acme/tiny"));
    core.count(&CallRecord { caller: None, model: None, replica: None, ..record(9, "acme/tiny") });
    expect![[r#"
        forebay_requests_total{route="chat",workspace="",model="",status="200",code=""} 1
        forebay_requests_total{route="chat",workspace="other",model="acme/tiny",status="200",code=""} 4
        forebay_requests_total{route="chat",workspace="other",model="other",status="200",code=""} 4
        forebay_requests_total{route="chat",workspace="1",model="acme/tiny",status="200",code=""} 2
        forebay_requests_total{route="chat",workspace="1",model="dedicated/mine",status="200",code=""} 1"#]]
    .assert_eq(&shown(&calls, "forebay_requests"));
    assert_eq!(shown(&calls, "forebay_metrics_label_sets"), "forebay_metrics_label_sets 3");
}

#[test]
fn cores_that_add_a_pair_at_once_share_it() {
    let calls = Arc::new(Calls::new(4, 100));
    std::thread::scope(|threads| {
        for core in 0..4 {
            let calls = calls.on_core(core);
            threads.spawn(move || {
                for workspace in 0..50 {
                    calls.count(&record(workspace, "acme/tiny"));
                }
            });
        }
    });
    let counted = shown(&calls, "forebay_requests");
    assert_eq!(counted.lines().count(), 50);
    assert!(counted.lines().all(|line| line.ends_with(" 4")), "{counted}");
}
