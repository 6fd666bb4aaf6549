//! Stories about what takes a node out, and what is only told.

use super::*;
use std::time::Instant;

fn well() -> Seen {
    Seen {
        draining: false,
        store_away_for: None,
        clock_skew_millis: Some(0),
        limits_are_degraded: false,
        journal: JournalSeen { waiting: 0, max: 1_000, has_room: true },
        differing_nodes: Vec::new(),
        alive_nodes: 1,
        leads: Leads::ThisNode,
        ailing: Vec::new(),
    }
}

/// The word for the whole, and the parts that are not well.
fn told(seen: &Seen) -> (&'static str, Vec<String>) {
    let parts = judge(seen);
    let word = status(seen, &parts);
    let report = Report {
        status: word,
        node_id: String::new(),
        store: "",
        catalogue_hash: String::new(),
        differing_nodes: Vec::new(),
        parts,
    };
    let ill = report.parts().filter(|(_, part)| !part.is_ok());
    (word, ill.map(|(name, part)| format!("{name}: {}", part.why)).collect())
}

fn model(id: &str) -> ModelId {
    ModelId::parse(id).unwrap()
}

#[test]
fn a_node_that_is_well_says_nothing_more() {
    assert_eq!(told(&well()), ("ready", Vec::new()));
    assert_eq!(told(&Seen { draining: true, ..well() }).0, "draining");
}

#[test]
fn what_other_nodes_would_not_do_better_is_only_told() {
    let ailing = vec![(model("acme/a"), Standing::Unavailable), (model("acme/b"), Standing::Degraded)];
    let long_ago = Instant::now().checked_sub(Duration::from_secs(11)).unwrap();
    for (seen, why) in [
        (Seen { limits_are_degraded: true, ..well() }, "limits: Redis does not answer"),
        (Seen { differing_nodes: vec!["node_2".into()], ..well() }, "catalogue: another catalogue is served by node_2"),
        (
            Seen { ailing, ..well() },
            "engines: no replica takes calls for acme/a; not every replica takes calls for acme/b",
        ),
        (Seen { leads: Leads::Nobody { since: long_ago }, ..well() }, "leader: no node leads"),
        (
            Seen { journal: JournalSeen { waiting: 501, max: 1_000, has_room: true }, ..well() },
            "journal: 501 of 1000 bytes wait",
        ),
    ] {
        let (word, ill) = told(&seen);
        assert_eq!(word, "degraded", "{why}");
        assert!(ill.len() == 1 && ill[0].starts_with(why), "{ill:?} instead of {why}");
    }
    let just_now = Leads::Nobody { since: Instant::now() };
    assert_eq!(told(&Seen { leads: just_now, ..well() }).0, "ready", "somebody is about to lead");
}

#[test]
fn a_store_that_is_away_takes_the_node_out_when_no_key_is_known_any_more() {
    let away = |secs| Seen { store_away_for: Some(Duration::from_secs(secs)), ..well() };
    let (word, ill) = told(&away(20));
    assert_eq!(word, "degraded");
    assert!(ill[0].starts_with("store: the store has not answered for 20 s"), "{ill:?}");
    let (word, ill) = told(&away(300));
    assert_eq!(word, "not_ready");
    assert!(ill[0].starts_with("store: the store has been away for more than 5 minutes"), "{ill:?}");
    assert!(!away(20).leads() && well().leads());
}

#[test]
fn a_journal_without_room_takes_the_node_out() {
    let full = JournalSeen { waiting: 1_000, max: 1_000, has_room: false };
    let broken = JournalSeen { waiting: 10, max: 1_000, has_room: false };
    for (journal, why) in [(full, "journal: the journal is full"), (broken, "journal: the disk of the journal")] {
        let (word, ill) = told(&Seen { journal, ..well() });
        assert_eq!(word, "not_ready");
        assert!(ill[0].starts_with(why), "{ill:?}");
    }
}
