use crate::databases::on_both;
use crate::{DEFAULTS, NOW, command};
use control::bootstrap::{self, FirstStart};
use control::series::{ChartLine, LineName, SeriesQuery, SeriesReport, SeriesValue, report};
use control::usage::{self, ReportQuery};
use control::{CommandError, retention};
use domain::series::{Division, Metric, Step};
use domain::usage::{Actor, CallOrigin, CallSurface, Certainty, Tokens};
use domain::{Caller, ModelId, NanoUsd, Price, RequestId, Retention, Span, Timestamp, UsageEvent};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use store::series::{Rejections, add_rejections};
use store::usage::UsageWriter;

const HOUR: i64 = 3_600_000;
const KEPT: Retention = Retention {
    minutes: Duration::from_secs(86_400),
    hours: Duration::from_secs(10 * 86_400),
    days: Duration::from_secs(100 * 86_400),
    requests: Duration::from_secs(7 * 86_400),
};

fn event(first: &FirstStart, model: &str, started_at: Timestamp, code: &'static str) -> UsageEvent {
    let actor = Actor::Key(first.key.id.clone());
    UsageEvent {
        request: RequestId::new(started_at, u128::from(getrandom::u64().unwrap())),
        caller: Arc::new(Caller::new(first.organization.id.clone(), first.workspace.id.clone(), actor)),
        model: ModelId::parse(model).unwrap(),
        replica: "acme/tiny#1".into(),
        streamed: true,
        status: 200,
        code: code.into(),
        tokens: Tokens { prompt: 100, completion: 11, cached: 40 },
        certainty: Certainty::Exact,
        price: Price::default(),
        cost: NanoUsd::from_nanos(7),
        started_at,
        first_byte_micros: Some(1_000_000),
        duration_micros: 6_000_000,
        held_micros: None,
        sent_micros: Some(2_000),
        origin: CallOrigin::default(),
        failovers: 0,
        end_user: None,
        reserved_in: Default::default(),
    }
}

/// Two calls three hours ago, one of which failed; one to an endpoint an hour ago, through Messages; and three rejections
/// of Messages then.
async fn used(store: &Store) -> FirstStart {
    let first = bootstrap::first_start(store, &DEFAULTS, NOW).await.unwrap().unwrap();
    let events = [
        event(&first, "acme/tiny", NOW.plus_millis(-3 * HOUR), ""),
        event(&first, "acme/tiny", NOW.plus_millis(-3 * HOUR + 1), "bad_gateway"),
        UsageEvent {
            origin: CallOrigin { surface: Some(CallSurface::Messages), ..CallOrigin::default() },
            ..event(&first, "dedicated/mine", NOW.plus_millis(-HOUR), "")
        },
    ];
    let rejections = Rejections {
        workspace: first.workspace.id.clone(),
        actor: Actor::User(first.user.id.clone()),
        model: None,
        at: NOW.plus_millis(-HOUR),
        surface: Some(CallSurface::Messages),
        code: "rate_limit_exceeded".into(),
        calls: 3,
    };
    let mut tx = store.begin().await.unwrap();
    UsageWriter::default().write(&mut tx, &events).await.unwrap();
    add_rejections(&mut tx, &[rejections]).await.unwrap();
    tx.commit().await.unwrap();
    first
}

fn query(metric: Metric) -> SeriesQuery {
    SeriesQuery {
        metric,
        span: Span { from: NOW.plus_millis(-4 * HOUR), to: NOW.plus_millis(HOUR) },
        step: Some(Step::parse("hour").unwrap()),
        division: None,
        model: None,
        actor: None,
        endpoint: None,
        code: None,
        surface: None,
    }
}

async fn ask(store: &Store, first: &FirstStart, query: SeriesQuery) -> Result<SeriesReport, CommandError> {
    report(store, &first.workspace.id, &query, &KEPT, NOW).await
}

/// `count 0 2 - 4 = 6`
fn shown(line: &ChartLine) -> Vec<String> {
    let number = |number: &Option<SeriesValue>| match number {
        None => "-".to_owned(),
        Some(SeriesValue::Whole(count)) => count.to_string(),
        Some(SeriesValue::Part(value)) => format!("{value:.2}"),
    };
    let values = line.values.iter().zip(&line.total);
    values
        .map(|((name, points), (_, total))| {
            let points: Vec<String> = points.iter().map(number).collect();
            format!("{name} {} = {}", points.join(" "), number(total))
        })
        .collect()
}

#[tokio::test]
async fn a_chart_has_a_value_for_every_known_point() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let one = async |metric| {
            let report = ask(&store, &first, query(metric)).await.unwrap();
            assert_eq!(report.lines.len(), 1);
            shown(&report.lines[0])
        };
        // NOW is on the hour: the last point has just begun.
        assert_eq!(one(Metric::Requests).await, ["count 0 2 0 4 0 = 6"]);
        assert_eq!(one(Metric::Errors).await, ["count 0 1 0 3 0 = 4"]);
        assert_eq!(one(Metric::RateLimitHits).await, ["count 0 0 0 3 0 = 3"]);
        let tokens = ["prompt 0 200 0 100 0 = 300", "completion 0 22 0 11 0 = 33", "cached 0 80 0 40 0 = 120"];
        assert_eq!(one(Metric::Tokens).await, tokens);
        assert_eq!(one(Metric::Latency).await[3..], ["mean - 6.00 - 6.00 - = 6.00", "count 0 1 0 1 0 = 2"]);
        assert_eq!(one(Metric::Ttft).await[4], "count 0 2 0 1 0 = 3");
        assert_eq!(one(Metric::TimePerOutputToken).await[3], "mean - 0.50 - 0.50 - = 0.50");
        assert_eq!(one(Metric::Hold).await[3..], ["mean - - - - - = -", "count 0 0 0 0 0 = 0"]);
        assert_eq!(one(Metric::ColdStarts).await, ["count 0 0 0 0 0 = 0"]);
        assert_eq!(one(Metric::InFlight).await, ["mean 0.00 0.00 0.00 0.00 - = 0.00"]);
        let mut busy = query(Metric::InFlight);
        busy.step = Some(Step::parse("minute").unwrap());
        busy.span = Span { from: NOW.plus_millis(-HOUR), to: NOW.plus_millis(-HOUR + 120_000) };
        let report = ask(&store, &first, busy).await.unwrap();
        assert_eq!(shown(&report.lines[0]), ["mean 0.10 0.00 = 0.05"], "six seconds of a minute");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_its_client_cancelled_is_counted_apart_from_errors() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let events = ["", "client_gone", "client_gone", "bad_gateway"]
            .map(|code| event(&first, "acme/tiny", NOW.plus_millis(-HOUR), code));
        let mut tx = store.begin().await.unwrap();
        UsageWriter::default().write(&mut tx, &events).await.unwrap();
        tx.commit().await.unwrap();
        let total = async |metric| ask(&store, &first, query(metric)).await.unwrap().lines[0].total[0].1;
        let whole = |count| Some(SeriesValue::Whole(count));
        assert_eq!(total(Metric::Requests).await, whole(4));
        assert_eq!(total(Metric::Cancelled).await, whole(2));
        assert_eq!(total(Metric::Errors).await, whole(1));
    })
    .await;
}

#[tokio::test]
async fn charts_are_grouped_and_filtered() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let divided = async |metric, division, narrow: &dyn Fn(&mut SeriesQuery)| {
            let mut narrowed = query(metric);
            narrowed.division = Some(division);
            narrow(&mut narrowed);
            let lines = ask(&store, &first, narrowed).await.unwrap().lines;
            lines.into_iter().map(|line| (line.name.clone(), shown(&line)[0].clone())).collect::<Vec<_>>()
        };
        let all = |_: &mut SeriesQuery| {};
        let text = |text: &str| text.to_owned();
        assert_eq!(
            divided(Metric::Requests, Division::Model, &all).await,
            [
                (LineName::Model(None), text("count 0 0 0 3 0 = 3")),
                (LineName::Model(Some(text("acme/tiny"))), text("count 0 2 0 0 0 = 2")),
                (LineName::Model(Some(text("dedicated/mine"))), text("count 0 0 0 1 0 = 1")),
            ]
        );
        assert_eq!(
            divided(Metric::Requests, Division::Endpoint, &all).await,
            [(LineName::Endpoint(text("mine")), text("count 0 0 0 1 0 = 1"))]
        );
        let (key, user) = (Actor::Key(first.key.id.clone()), Actor::User(first.user.id.clone()));
        let by_key = divided(Metric::Requests, Division::Key, &all).await;
        assert_eq!(
            by_key.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(),
            [LineName::Actor(key.clone()), LineName::Actor(user.clone())]
        );
        assert_eq!(
            divided(Metric::Errors, Division::Code, &all).await,
            [
                (LineName::Code(text("rate_limit_exceeded")), text("count 0 0 0 3 0 = 3")),
                (LineName::Code(text("bad_gateway")), text("count 0 1 0 0 0 = 1")),
            ]
        );
        let of_user = |query: &mut SeriesQuery| query.actor = Some(user.clone());
        assert_eq!(divided(Metric::Errors, Division::Code, &of_user).await.len(), 1);
        let of_model = |query: &mut SeriesQuery| query.model = Some(text("acme/tiny"));
        assert_eq!(
            divided(Metric::Requests, Division::Key, &of_model).await,
            [(LineName::Actor(key), text("count 0 2 0 0 0 = 2"))]
        );
        let of_code = |query: &mut SeriesQuery| query.code = Some(text("bad_gateway"));
        assert_eq!(
            divided(Metric::Errors, Division::Model, &of_code).await,
            [(LineName::Model(Some(text("acme/tiny"))), text("count 0 1 0 0 0 = 1"))]
        );
    })
    .await;
}

#[tokio::test]
async fn charts_show_the_calls_of_one_surface() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let of = async |surface, metric, narrow: &dyn Fn(&mut SeriesQuery)| {
            let mut narrowed = SeriesQuery { surface: Some(surface), ..query(metric) };
            narrow(&mut narrowed);
            let lines = ask(&store, &first, narrowed).await.unwrap().lines;
            lines.into_iter().map(|line| (line.name.clone(), shown(&line)[0].clone())).collect::<Vec<_>>()
        };
        let all = |_: &mut SeriesQuery| {};
        let whole = |text: &str| vec![(LineName::All, text.to_owned())];
        let messages = CallSurface::Messages;
        assert_eq!(of(messages, Metric::Requests, &all).await, whole("count 0 0 0 4 0 = 4"));
        assert_eq!(of(messages, Metric::Tokens, &all).await, whole("prompt 0 0 0 100 0 = 100"));
        assert_eq!(of(messages, Metric::RateLimitHits, &all).await, whole("count 0 0 0 3 0 = 3"));
        let latency = of(messages, Metric::Latency, &all).await.remove(0).1;
        assert!(latency.starts_with("p50 - - - ") && !latency.starts_with("p50 - - - -"), "{latency}");
        let by = |division| move |query: &mut SeriesQuery| query.division = Some(division);
        let user = LineName::Actor(Actor::User(first.user.id.clone()));
        let lines = of(messages, Metric::Requests, &by(Division::Key)).await;
        assert_eq!((lines.len(), &lines[0]), (2, &(user, "count 0 0 0 3 0 = 3".to_owned())));
        let lines = of(messages, Metric::Requests, &by(Division::Endpoint)).await;
        assert_eq!(lines, [(LineName::Endpoint("mine".to_owned()), "count 0 0 0 1 0 = 1".to_owned())]);
        let of_key = |query: &mut SeriesQuery| query.actor = Some(Actor::Key(first.key.id.clone()));
        assert_eq!(of(messages, Metric::Requests, &of_key).await, whole("count 0 0 0 1 0 = 1"));
        // Calls without a surface are in none of them.
        assert_eq!(of(CallSurface::Chat, Metric::Requests, &all).await, whole("count 0 0 0 0 0 = 0"));
    })
    .await;
}

#[tokio::test]
async fn invalid_combinations_are_rejected_with_the_field() {
    on_both(async |_, store| {
        let first = used(&store).await;
        let rejected = async |metric, change: &dyn Fn(&mut SeriesQuery)| {
            let mut narrowed = query(metric);
            change(&mut narrowed);
            ask(&store, &first, narrowed).await.unwrap_err().field()
        };
        let by = |division| move |query: &mut SeriesQuery| query.division = Some(division);
        assert_eq!(rejected(Metric::Latency, &by(Division::Code)).await, Some("groupBy"));
        assert_eq!(rejected(Metric::GpuBusy, &by(Division::Key)).await, Some("groupBy"));
        assert_eq!(rejected(Metric::KvCache, &|query| query.model = Some("acme/tiny".into())).await, Some("model"));
        let of_chat = |query: &mut SeriesQuery| query.surface = Some(CallSurface::Chat);
        assert_eq!(rejected(Metric::Waiting, &of_chat).await, Some("surface"));
        assert_eq!(rejected(Metric::Requests, &|query| query.code = Some("x".into())).await, Some("code"));
        let both = |query: &mut SeriesQuery| {
            (query.model, query.endpoint) = (Some("acme/tiny".into()), Some("mine".into()));
        };
        assert_eq!(rejected(Metric::Requests, &both).await, Some("endpoint"));
        let fine = |query: &mut SeriesQuery| {
            query.step = Some(Step::parse("minute").unwrap());
            query.span.from = NOW.plus_millis(-48 * HOUR);
        };
        assert_eq!(rejected(Metric::Requests, &fine).await, Some("step"));
        assert_eq!(
            rejected(Metric::GpuBusy, &|query| query.step = Some(Step::parse("60").unwrap())).await,
            Some("step")
        );
    })
    .await;
}

#[tokio::test]
async fn points_whose_rows_were_pruned_are_unknown_and_the_bill_stays() {
    on_both(async |_, store| {
        let first = bootstrap::first_start(&store, &DEFAULTS, NOW).await.unwrap().unwrap();
        let old = NOW.plus_millis(-30 * 24 * HOUR);
        let events = [event(&first, "acme/tiny", old, ""), event(&first, "acme/tiny", NOW.plus_millis(-60_000), "")];
        let mut tx = store.begin().await.unwrap();
        UsageWriter::default().write(&mut tx, &events).await.unwrap();
        tx.commit().await.unwrap();
        let span = Span { from: old, to: old.plus_millis(2 * HOUR) };
        let hourly = SeriesQuery { span, ..query(Metric::Requests) };
        assert_eq!(shown(&ask(&store, &first, hourly.clone()).await.unwrap().lines[0]), ["count - - = 1"]);

        // The events and the rows of minutes and hours from a month ago: the days stay.
        let cleared = retention::clear_all(&store, &KEPT, NOW).await.unwrap();
        assert_eq!(cleared, 2 + 2 * 4, "an event and its kind, and its rows of two resolutions on four levels");
        assert_eq!(shown(&ask(&store, &first, hourly).await.unwrap().lines[0]), ["count - - = 0"]);
        let daily = SeriesQuery { span, step: Some(Step::parse("day").unwrap()), ..query(Metric::Requests) };
        assert_eq!(shown(&ask(&store, &first, daily).await.unwrap().lines[0]), ["count 1 = 1"]);

        let workspace = &first.workspace.id;
        let since = |from| ReportQuery { from: Some(from), to: Some(NOW), ..ReportQuery::default() };
        let whole = usage::report(&store, workspace, since(old.plus_millis(-5)), NOW).await.unwrap();
        assert_eq!((whole.total.requests, whole.total.cost.nanos()), (2, 14), "edges of the past are whole hours");
        let rebuilt = usage::rebuild(command(&store)).await.unwrap();
        assert_eq!(rebuilt.rows_corrected, 0, "sums of events that are gone are not taken for wrong");
        let again = usage::report(&store, workspace, since(old), NOW).await.unwrap();
        assert_eq!(again.total.requests, 2);
    })
    .await;
}
