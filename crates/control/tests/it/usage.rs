use crate::databases::on_both;
use crate::outside::outside;
use crate::{DEFAULTS, NOW, command};
use control::bootstrap::{self, FirstStart};
use control::keys::{self, KeyChange, KeyEdit};
use control::usage::{self, Rebuilt, ReportQuery};
use control::workspaces::KeysOfWorkspace;
use control::{CommandErrorKind, organizations, workspaces};
use domain::grouping::Group;
use domain::usage::{Actor, CallOrigin, CallSurface, Certainty, Tokens, Totals};
use domain::{
    CallClass, Caller, EndUserId, Grouping, KeyId, ModelId, NanoUsd, OrganizationId, Price, RequestId, Span, Timestamp,
    UsageEvent, WorkspaceId,
};
use expect_test::expect;
use sqlx::{AssertSqlSafe, Executor};
use std::sync::Arc;
use store::Store;
use store::usage::UsageWriter;
use store::usage::recent::Recent;
use store::usage::sums::{Summed, read_classes};

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn event(first: &FirstStart, actor: Actor, model: &str, started_at: &str, certainty: Certainty) -> UsageEvent {
    let tokens = match certainty {
        Certainty::Exact | Certainty::Estimated => Tokens { prompt: 1_000, completion: 10, cached: 200 },
        Certainty::Void => Tokens::default(),
    };
    let usd = |text| NanoUsd::parse(text).unwrap();
    let price = Price { input_per_1m: usd("0.10"), cached_input_per_1m: usd("0.05"), output_per_1m: usd("0.40") };
    UsageEvent {
        request: RequestId::new(at(started_at), u128::from(getrandom::u64().unwrap())),
        caller: Arc::new(Caller::new(first.organization.id.clone(), first.workspace.id.clone(), actor)),
        model: ModelId::parse(model).unwrap(),
        replica: "acme/tiny#1".into(),
        streamed: false,
        status: 200,
        code: "".into(),
        tokens,
        certainty,
        price,
        cost: price.charge(tokens),
        started_at: at(started_at),
        first_byte_micros: None,
        duration_micros: 1,
        held_micros: None,
        sent_micros: Some(700),
        origin: CallOrigin { surface: Some(CallSurface::Chat), ..CallOrigin::default() },
        failovers: 0,
        end_user: None,
        reserved_in: Default::default(),
    }
}

/// A store whose first workspace was used by a key and in the Playground, around the turn of a day.
async fn used(store: &Store) -> FirstStart {
    let first = bootstrap::first_start(store, &DEFAULTS, NOW).await.unwrap().unwrap();
    let (key, user) = (Actor::Key(first.key.id.clone()), Actor::User(first.user.id.clone()));
    let events = [
        event(&first, key.clone(), "acme/tiny", "2027-01-14T23:59:59.999Z", Certainty::Exact),
        event(&first, key.clone(), "acme/tiny", "2027-01-15T00:00:00Z", Certainty::Estimated),
        event(&first, key.clone(), "acme/big", "2027-01-15T07:00:00Z", Certainty::Void),
        event(&first, user, "acme/big", "2027-01-15T07:30:00Z", Certainty::Exact),
        event(&first, key, "acme/tiny", "2026-12-31T23:00:00Z", Certainty::Exact),
    ];
    let mut tx = store.begin().await.unwrap();
    UsageWriter::default().write(&mut tx, &events).await.unwrap();
    tx.commit().await.unwrap();
    first
}

/// The groups and the numbers of each line.
fn shown(report: &usage::Report, first: &FirstStart) -> String {
    let group = |group: &Group| match group {
        Group::Model(model) => model.to_string(),
        Group::Actor(actor) => {
            actor.as_str().replace(first.key.id.as_str(), "KEY").replace(first.user.id.as_str(), "USER")
        }
        Group::Day(day) => day.to_string(),
        Group::Surface(surface) => surface.map_or("-", CallSurface::as_str).to_owned(),
        Group::Label(value) => value.as_deref().unwrap_or("-").to_owned(),
        Group::EndUser(id) => id.as_ref().map_or("-", EndUserId::as_str).to_owned(),
    };
    let lines = report.lines.iter().map(|Summed { groups, totals }| {
        let Totals { requests, prompt_tokens, completion_tokens, cached_tokens, cost } = totals;
        let groups = groups.iter().map(group).collect::<Vec<_>>().join(" ");
        format!("{groups} {requests} {prompt_tokens} {completion_tokens} {cached_tokens} {cost}\n")
    });
    lines.collect()
}

async fn report(store: &Store, workspace: &WorkspaceId, grouping: &str) -> usage::Report {
    let query = ReportQuery { grouping: Grouping::parse(grouping).unwrap(), ..ReportQuery::default() };
    usage::report(store, workspace, query, NOW).await.unwrap()
}

#[tokio::test]
async fn the_month_to_date_is_shown_per_group_and_in_total() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let all = report(&store, &first.workspace.id, "").await;
        assert_eq!(shown(&all, &first), " 3 3000 30 600 0.000282\n");
        assert_eq!(all.total, all.lines[0].totals);
        let grouped = report(&store, &first.workspace.id, "day,key,model").await;
        expect![[r#"
            2027-01-14 KEY acme/tiny 1 1000 10 200 0.000094
            2027-01-15 KEY acme/tiny 1 1000 10 200 0.000094
            2027-01-15 USER acme/big 1 1000 10 200 0.000094
        "#]]
        .assert_eq(&shown(&grouped, &first));
        assert_eq!(grouped.total, all.total);
        let surfaces = report(&store, &first.workspace.id, "surface").await;
        assert_eq!(shown(&surfaces, &first), "chat 3 3000 30 600 0.000282\n");
    })
    .await;
}

#[tokio::test]
async fn the_usage_of_one_caller_is_a_part_of_the_whole() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let of = async |actor: Actor, grouping: &str, from: &str| {
            let grouping = Grouping::parse(grouping).unwrap();
            let query = ReportQuery { from: Some(at(from)), grouping, actor: Some(actor), ..ReportQuery::default() };
            shown(&usage::report(&store, &first.workspace.id, query, NOW).await.unwrap(), &first)
        };
        let (key, user) = (Actor::Key(first.key.id.clone()), Actor::User(first.user.id.clone()));
        // Of days, hours and single events.
        for from in ["2027-01-01T00:00:00Z", "2027-01-14T23:30:00Z", "2027-01-14T23:59:59.999Z"] {
            assert_eq!(of(key.clone(), "model", from).await, "acme/tiny 2 2000 20 400 0.000188\n", "{from}");
            assert_eq!(of(user.clone(), "surface", from).await, "chat 1 1000 10 200 0.000094\n", "{from}");
        }
        assert_eq!(of(key, "endUser,label:team", "2027-01-01T00:00:00Z").await, "- - 2 2000 20 400 0.000188\n");
        let other = Actor::Key(KeyId::new(NOW, 7));
        assert_eq!(of(other, "", "2027-01-01T00:00:00Z").await, " 0 0 0 0 0.00\n");
    })
    .await;
}

#[tokio::test]
async fn usage_is_grouped_by_a_label_that_keys_have_now() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let by_team = async || shown(&report(&store, &first.workspace.id, "label:team").await, &first);
        assert_eq!(by_team().await, "- 3 3000 30 600 0.000282\n");
        for team in ["search", "ads"] {
            let labels = [("team".to_owned(), team.to_owned()), ("stage".to_owned(), "x".to_owned())];
            let edit = KeyEdit { labels: Some(labels.into_iter().collect()), ..KeyEdit::default() };
            keys::edit(command(&store), &first.workspace.id, &first.key.id, edit).await.unwrap();
        }
        assert_eq!(by_team().await, "- 1 1000 10 200 0.000094\nads 2 2000 20 400 0.000188\n");
        let grouped = report(&store, &first.workspace.id, "key,label:team,day").await;
        expect![[r#"
            KEY 2027-01-14 ads 1 1000 10 200 0.000094
            KEY 2027-01-15 ads 1 1000 10 200 0.000094
            USER 2027-01-15 - 1 1000 10 200 0.000094
        "#]]
        .assert_eq(&shown(&grouped, &first));
        assert_eq!(grouped.total, report(&store, &first.workspace.id, "").await.total);
    })
    .await;
}

#[tokio::test]
async fn spans_are_half_open_and_end_after_they_start() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let requests = async |from: &str, to: &str| {
            let query = ReportQuery { from: Some(at(from)), to: Some(at(to)), ..ReportQuery::default() };
            usage::report(&store, &first.workspace.id, query, NOW).await.map(|report| report.total.requests)
        };
        assert_eq!(requests("2027-01-14T23:59:59.999Z", "2027-01-15T00:00:00Z").await.unwrap(), 1);
        assert_eq!(requests("2027-01-15T00:00:00Z", "2027-01-15T00:00:00Z").await.unwrap(), 0);
        assert_eq!(requests("2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z").await.unwrap(), 4);
        let refused = requests("2027-01-15T00:00:00.001Z", "2027-01-15T00:00:00Z").await.unwrap_err();
        assert_eq!((refused.code(), refused.field()), ("invalid_value", Some("to")));
    })
    .await;
}

#[tokio::test]
async fn the_last_minute_of_an_organization_has_the_calls_that_its_limits_count() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let actor = || Actor::Key(first.key.id.clone());
        let moment = "2027-01-15T07:30:10Z";
        let in_batch = UsageEvent {
            origin: CallOrigin { surface: Some(CallSurface::Batch), ..CallOrigin::default() },
            ..event(&first, actor(), "acme/big", moment, Certainty::Exact)
        };
        let dedicated = event(&first, actor(), "dedicated/chat", moment, Certainty::Exact);
        let failed = event(&first, actor(), "acme/big", moment, Certainty::Void);
        let mut tx = store.begin().await.unwrap();
        UsageWriter::default().write(&mut tx, &[in_batch, dedicated, failed]).await.unwrap();
        tx.commit().await.unwrap();
        let unused = OrganizationId::new(NOW, 1);
        let at_moment = at("2027-01-15T07:31:00Z");
        let ids = [&first.organization.id, &unused];
        let found = organizations::used_per_minute(&store, &ids, at_moment).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[&first.organization.id], Recent { requests: 2, tokens: 1_010 });
        let later = organizations::used_per_minute(&store, &ids, at_moment.plus_millis(60_000)).await.unwrap();
        assert!(later.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_deleted_workspace_keeps_its_usage_and_an_unknown_one_has_none() {
    on_both(async |_, store| {
        let first = used(&store).await;
        keys::change(command(&store), &first.workspace.id, &first.key.id, KeyChange::Revoke).await.unwrap();
        workspaces::delete(command(&store), &first.workspace.id, KeysOfWorkspace::Keep).await.unwrap();
        assert_eq!(report(&store, &first.workspace.id, "model").await.total.requests, 3);
        let unknown = WorkspaceId::new(NOW, 1);
        let refused = usage::report(&store, &unknown, ReportQuery::default(), NOW).await.unwrap_err();
        assert_eq!(refused.kind(), CommandErrorKind::Missing);
    })
    .await;
}

#[tokio::test]
async fn a_rebuild_of_correct_sums_changes_nothing() {
    on_both(async |_, store| {
        used(&store).await;
        let rebuilt = usage::rebuild(command(&store)).await.unwrap();
        assert_eq!(rebuilt, Rebuilt { workspaces: 1, hours: 4, days: 3, rows_corrected: 0 });
    })
    .await;
}

#[tokio::test]
async fn a_rebuild_corrects_sums_of_classes_except_from_before_events_had_a_class() {
    on_both(async |database, store| {
        let first = used(&store).await;
        let key = Actor::Key(first.key.id.clone());
        let flex = |started_at| UsageEvent {
            origin: CallOrigin { class: CallClass::Flex, ..CallOrigin::default() },
            ..event(&first, key.clone(), "acme/tiny", started_at, Certainty::Exact)
        };
        let mut tx = store.begin().await.unwrap();
        let events = [flex("2027-01-13T12:00:00Z"), flex("2027-01-14T12:00:00Z")];
        UsageWriter::default().write(&mut tx, &events).await.unwrap();
        tx.commit().await.unwrap();
        let requests = async || {
            let span = Span { from: Timestamp::default(), to: NOW };
            let sums = read_classes(&store, &first.workspace.id, span).await.unwrap();
            sums.iter().map(|sum| sum.totals.requests).collect::<Vec<_>>()
        };
        let mut outside = outside(database).await;
        outside.execute("UPDATE usage_classes SET requests = requests + 6").await.unwrap();
        let mark = at("2027-01-14T00:00:00Z").millis();
        let insert = format!("INSERT INTO retention_marks (name, cleared_before) VALUES ('usage_classes', {mark})");
        outside.execute(AssertSqlSafe(insert)).await.unwrap();
        assert_eq!(usage::rebuild(command(&store)).await.unwrap().rows_corrected, 1);
        assert_eq!(requests().await, [7, 1]);
        outside.execute("DELETE FROM retention_marks").await.unwrap();
        assert_eq!(usage::rebuild(command(&store)).await.unwrap().rows_corrected, 1);
        assert_eq!(requests().await, [1, 1]);
    })
    .await;
}
