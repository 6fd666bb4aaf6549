//! Tests: what makes a node not ready, and what is only reported.

use super::*;
use std::time::Instant;

fn healthy() -> Observation {
    Observation {
        draining: false,
        store_away_for: None,
        clock_skew_millis: Some(0),
        limits_are_degraded: false,
        journal: observed(0, true),
        differing_nodes: Vec::new(),
        alive_nodes: 1,
        leader: Leader::This,
        ailing: Vec::new(),
    }
}

fn observed(waiting: u64, has_room: bool) -> JournalObservation {
    let level = FillLevel { waiting, room: 0, unsynced: 0, unwritten: 0 };
    JournalObservation { level, max: 1_000, has_room }
}

/// The overall status, and the parts that are not ok.
fn checked(seen: &Observation) -> (&'static str, Vec<String>) {
    let parts = assess(seen);
    let overall = status(seen, &parts);
    let report = Report {
        status: overall,
        node_id: String::new(),
        store: "",
        catalogue_hash: String::new(),
        differing_nodes: Vec::new(),
        parts,
    };
    let ill = report.parts().filter(|(_, part)| !part.is_ok());
    (overall, ill.map(|(name, part)| format!("{name}: {}", part.why)).collect())
}

fn model(id: &str) -> ModelId {
    ModelId::parse(id).unwrap()
}

#[test]
fn a_healthy_node_reports_no_reasons() {
    assert_eq!(checked(&healthy()), ("ready", Vec::new()));
    assert_eq!(checked(&Observation { draining: true, ..healthy() }).0, "draining");
}

#[test]
fn problems_that_all_nodes_share_are_only_reported() {
    let ailing = vec![(model("acme/a"), Availability::Unavailable), (model("acme/b"), Availability::Degraded)];
    let long_ago = Instant::now().checked_sub(Duration::from_secs(11)).unwrap();
    for (seen, why) in [
        (Observation { limits_are_degraded: true, ..healthy() }, "limits: Redis does not respond"),
        (
            Observation { differing_nodes: vec!["node_2".into()], ..healthy() },
            "catalogue: another catalogue is served by node_2",
        ),
        (
            Observation { ailing, ..healthy() },
            "engines: no replica accepts calls for acme/a; some replicas do not accept calls for acme/b",
        ),
        (Observation { leader: Leader::Vacant { since: long_ago }, ..healthy() }, "leader: no node leads"),
        (Observation { journal: observed(501, true), ..healthy() }, "journal: 501 of 1000 bytes wait"),
    ] {
        let (overall, ill) = checked(&seen);
        assert_eq!(overall, "degraded", "{why}");
        assert!(ill.len() == 1 && ill[0].starts_with(why), "{ill:?} instead of {why}");
    }
    let just_now = Leader::Vacant { since: Instant::now() };
    assert_eq!(checked(&Observation { leader: just_now, ..healthy() }).0, "ready", "a node is about to lead");
}

#[test]
fn a_node_without_the_store_is_not_ready_once_known_keys_have_expired() {
    let away = |secs| Observation { store_away_for: Some(Duration::from_secs(secs)), ..healthy() };
    let (overall, ill) = checked(&away(20));
    assert_eq!(overall, "degraded");
    assert!(ill[0].starts_with("store: the store has not responded for 20 s"), "{ill:?}");
    let (overall, ill) = checked(&away(300));
    assert_eq!(overall, "not_ready");
    assert!(ill[0].starts_with("store: the store has been unreachable for more than 5 minutes"), "{ill:?}");
    assert!(!away(20).leads() && healthy().leads());
}

#[test]
fn a_node_whose_journal_has_no_room_is_not_ready() {
    let full = observed(1_000, false);
    let broken = observed(10, false);
    for (journal, why) in [(full, "journal: the journal is full"), (broken, "journal: the journal cannot be written")] {
        let (overall, ill) = checked(&Observation { journal, ..healthy() });
        assert_eq!(overall, "not_ready");
        assert!(ill[0].starts_with(why), "{ill:?}");
    }
}
