//! The contract's worked numbers of GPU-hours, costs and utilization; every grouping adds up to the total.

use super::platform::{Platform, endpoint_ref, gpu_type};
use crate::databases::on_both;
use crate::{NOW, command};
use control::gpu_costs::{GpuCostReport, report};
use control::reconciler::{suspend_spent, write_gpu_costs};
use control::{costs, endpoints, gpu_prices, invoices, organizations};
use domain::endpoint::State;
use domain::endpoint::event::EventType;
use domain::gpu_costs::Dimension;
use domain::gpu_time::{GpuBusy, WINDOW_MILLIS};
use domain::monthly_budget::BudgetChange;
use domain::{Catalogue, Endpoint, Grain, Month, NanoUsd, OnBudget, ReplicaId, Span, Timestamp};
use serde_json::json;
use store::endpoint_events::Filter;
use store::gpu_busy;
use store::holds::{self, NewHold, Owner};

const DAY: i64 = 24 * 3_600_000;

/// This time on the day of `NOW`.
fn at(time: &str) -> Timestamp {
    Timestamp::parse(&format!("2027-01-15T{time}Z")).unwrap()
}

fn today() -> Span {
    Span { from: at("00:00:00"), to: at("00:00:00").plus_millis(DAY) }
}

struct Plant {
    platform: Platform,
    replicas: std::cell::Cell<u128>,
}

impl Plant {
    async fn new(store: store::Store) -> Self {
        let platform = Platform::new(store, 64).await;
        gpu_prices::declare(&platform.store, &platform.catalogue, NOW.plus_millis(-90 * DAY)).await.unwrap();
        Self { platform, replicas: std::cell::Cell::new(0) }
    }

    async fn endpoint(&self, name: &str, flavor: &str) -> Endpoint {
        self.platform.create(name, flavor, json!({})).await.unwrap();
        self.platform.show(name).await
    }

    /// A replica that held its GPUs during this interval.
    async fn hold(&self, endpoint: &Endpoint, from: Timestamp, to: Option<Timestamp>) -> ReplicaId {
        self.replicas.set(self.replicas.get() + 1);
        let replica = ReplicaId::new(NOW, self.replicas.get());
        let gpus: Vec<String> = (0..endpoint.gpu_count()).map(|number| format!("{replica}-{number}")).collect();
        let mut tx = self.platform.fenced().await;
        let price_per_gpu_hour = NanoUsd::parse("2.50").unwrap();
        let new = NewHold { replica: &replica, endpoint, node: "n", gpus: &gpus, price_per_gpu_hour, started_at: from };
        holds::open(&mut tx, new).await.unwrap();
        if let Some(to) = to {
            holds::close(&mut tx, &replica, to, "exit").await.unwrap();
        }
        tx.commit().await.unwrap();
        replica
    }

    async fn busy(&self, endpoint: &Endpoint, window: Timestamp, percent: u64) {
        let mut tx = self.platform.store.begin().await.unwrap();
        let busy = GpuBusy::from_millionths(percent * 10_000);
        gpu_busy::record(&mut tx, &endpoint.id, window, busy, true).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn costs(&self, span: Span, by: &str, now: Timestamp) -> GpuCostReport {
        let owner = Owner::Organization(&self.platform.workspace.organization);
        let by = Dimension::parse_all(by).unwrap();
        report(&self.platform.store, owner, None, span, &by, now).await.unwrap()
    }
}

/// `6.0 GPU-hours 15.00 USD 25 %`
fn shown(report: &GpuCostReport) -> String {
    let total = report.total;
    format!("{} GPU-hours {} USD {} %", total.gpu_time, total.cost, total.busy().fraction() * 100.0)
}

#[tokio::test]
async fn the_worked_numbers_of_gpu_hours() {
    on_both(async |_, store| {
        let plant = Plant::new(store).await;
        let end_of_day = today().to;
        let two = plant.endpoint("two", "2x").await;
        plant.hold(&two, at("10:00:00"), Some(at("12:30:00"))).await;
        plant.hold(&two, at("11:15:30"), Some(at("11:45:30"))).await;
        assert_eq!(shown(&plant.costs(today(), "", end_of_day).await), "6.0 GPU-hours 15.00 USD 0 %");

        let lost = plant.hold(&two, at("13:00:00"), None).await;
        let mut tx = plant.platform.store.begin().await.unwrap();
        holds::seen(&mut tx, &lost, at("13:20:15")).await.unwrap();
        tx.commit().await.unwrap();
        let open = holds::list_open(&plant.platform.store).await.unwrap();
        let ended_at = open[0].hold.last_seen_at;
        let mut tx = plant.platform.fenced().await;
        holds::close(&mut tx, &lost, ended_at, "node-lost").await.unwrap();
        tx.commit().await.unwrap();
        let after_one = Span { from: at("12:30:00"), to: end_of_day };
        assert_eq!(shown(&plant.costs(after_one, "", end_of_day).await), "0.675 GPU-hours 1.6875 USD 0 %");

        let floor = plant.endpoint("floor", "4x").await;
        plant.hold(&floor, today().from, Some(end_of_day)).await;
        plant.endpoint("asleep", "4x").await;
        let by_endpoint = plant.costs(today(), "endpoint", end_of_day).await;
        let mut lines: Vec<_> = by_endpoint
            .lines
            .iter()
            .map(|(group, measure)| format!("{} {}", group.endpoint.as_ref().unwrap().1, measure.gpu_time))
            .collect();
        // Sorted by id, which is in random order for two endpoints of the same millisecond.
        lines.sort();
        assert_eq!(lines, ["floor 96.0", "two 6.675"], "an endpoint at zero holds nothing, whatever it commits");
    })
    .await;
}

#[tokio::test]
async fn the_worked_numbers_of_utilization() {
    on_both(async |_, store| {
        let plant = Plant::new(store).await;
        let window = |number: i64| at("08:00:00").plus_millis(number * WINDOW_MILLIS);
        let first = plant.endpoint("first", "4x").await;
        plant.hold(&first, window(0), Some(window(4))).await;
        for (number, percent) in [(0, 80), (1, 20), (3, 0)] {
            plant.busy(&first, window(number), percent).await;
        }
        let view = plant.costs(today(), "", today().to).await;
        assert_eq!(
            shown(&view),
            "1.333333333 GPU-hours 3.333333333 USD 25 %",
            "the window without data counts as idle"
        );
        assert!(view.total.is_measured());
        let unmeasured = plant.costs(Span { from: window(2), to: window(3) }, "", today().to).await.total;
        assert_eq!((unmeasured.busy(), unmeasured.is_measured()), (GpuBusy::from_millionths(0), false));

        let (ninety, thirty) = (plant.endpoint("ninety", "1x").await, plant.endpoint("thirty", "4x").await);
        plant.hold(&ninety, window(10), Some(window(11))).await;
        plant.busy(&ninety, window(10), 90).await;
        plant.hold(&thirty, window(10), Some(window(12))).await;
        plant.busy(&thirty, window(10), 10).await;
        plant.busy(&thirty, window(11), 20).await;
        let later = Span { from: window(10), to: today().to };
        assert_eq!(plant.costs(later, "", today().to).await.total.busy(), GpuBusy::from_millionths(400_000));
        let nothing = Span { from: window(20), to: today().to };
        assert_eq!(shown(&plant.costs(nothing, "", today().to).await), "0.0 GPU-hours 0.00 USD 0 %");
    })
    .await;
}

#[tokio::test]
async fn every_grouping_adds_up_to_the_nano_dollar() {
    on_both(async |_, store| {
        let mut plant = Plant::new(store).await;
        // From the second day on, a price that does not divide evenly.
        let mut model = plant.platform.catalogue.iter().next().unwrap().as_ref().clone();
        model.flavors.iter_mut().for_each(|flavor| flavor.price_per_gpu_hour = NanoUsd::from_nanos(1_234_567_891));
        plant.platform.catalogue = Catalogue::new(vec![model], "hash");
        let changed_at = at("07:11:13").plus_millis(-2 * DAY);
        gpu_prices::declare(&plant.platform.store, &plant.platform.catalogue, changed_at).await.unwrap();
        for (name, flavor, minutes) in [("a", "1x", 4_321), ("b", "3x", 2_000), ("c", "3x", 17)] {
            let endpoint = plant.endpoint(name, flavor).await;
            for number in 1..4 {
                let from = at("05:00:00").plus_millis(-3 * DAY + number * 7_777_777);
                let to = from.plus_millis(minutes * 60_000 + number * 13);
                plant.hold(&endpoint, from, Some(to)).await;
            }
        }
        let span = Span { from: today().from.plus_millis(-10 * DAY), to: today().to };
        let whole = plant.costs(span, "", today().to).await.total;
        assert!(whole.cost.nanos() > 0);
        for by in ["day", "endpoint", "gpuType", "workspace,day", "day,endpoint,gpuType,workspace"] {
            let report = plant.costs(span, by, today().to).await;
            let cost: i64 = report.lines.iter().map(|(_, measure)| measure.cost.nanos()).sum();
            let time: i64 = report.lines.iter().map(|(_, measure)| measure.gpu_time.get()).sum();
            assert_eq!((cost, time), (whole.cost.nanos(), whole.gpu_time.get()), "{by}");
            assert_eq!(report.total, whole, "{by}");
        }
        let mut of_endpoints = 0;
        for name in ["a", "b", "c"] {
            let scope = plant.platform.scope();
            let usage =
                endpoints::usage(&plant.platform.store, scope, &endpoint_ref(name), span, Grain::Day, today().to).await;
            of_endpoints += usage.unwrap().total.cost.nanos();
        }
        assert_eq!(of_endpoints, whole.cost.nanos(), "and so do the endpoints' own reports");
        let by_type = plant.costs(span, "gpuType", today().to).await;
        assert_eq!(by_type.lines[0].0.gpu_type, Some(gpu_type()));
    })
    .await;
}

#[tokio::test]
async fn gpu_hours_count_in_a_budget_when_it_is_set_and_once_a_minute() {
    on_both(async |_, store| {
        let plant = Plant::new(store).await;
        let (store, workspace) = (&plant.platform.store, &plant.platform.workspace);
        let endpoint = plant.endpoint("chat", "1x").await;
        plant.hold(&endpoint, at("02:00:00"), Some(at("04:00:00"))).await;
        let own_monthly_usd = BudgetChange::Set(Some(NanoUsd::parse("100").unwrap()));
        let edit = organizations::Edit { own_monthly_usd, ..Default::default() };
        organizations::set(command(store), &workspace.organization, edit).await.unwrap();
        let month = Month::of(NOW);
        let used = async || {
            let budget = costs::budget(store, &workspace.id, month, NOW).await.unwrap().unwrap();
            NanoUsd::from_unsigned(budget.used).to_string()
        };
        assert_eq!(used().await, "5.00");
        plant.hold(&endpoint, at("04:00:00"), Some(at("05:00:00"))).await;
        let epoch = plant.platform.fenced().await.epoch();
        write_gpu_costs(store, epoch, NOW).await.unwrap();
        assert_eq!(used().await, "7.50");
        let shown = costs::month(store, &workspace.id, month, NOW).await.unwrap();
        assert_eq!(shown.total.cost.to_string(), "7.50");
        let past = costs::budget(store, &workspace.id, month, month.end()).await.unwrap();
        assert_eq!(past, None, "of another month than the current one");
    })
    .await;
}

#[tokio::test]
async fn endpoints_are_suspended_when_a_budget_is_spent_only_if_it_was_asked_for() {
    on_both(async |_, store| {
        let plant = Plant::new(store).await;
        let (store, workspace) = (&plant.platform.store, &plant.platform.workspace);
        let endpoint = plant.endpoint("chat", "1x").await;
        plant.hold(&endpoint, at("02:00:00"), Some(at("04:00:00"))).await;
        let set = async |usd: &str, on_budget| {
            let own_monthly_usd = BudgetChange::Set(Some(NanoUsd::parse(usd).unwrap()));
            let edit = organizations::Edit { own_monthly_usd, on_budget, ..Default::default() };
            organizations::set(command(store), &workspace.organization, edit).await.unwrap();
            suspend_spent(store, NOW).await.unwrap();
            plant.platform.show("chat").await
        };
        for (usd, on_budget, is_suspended) in
            [("5.00", None, false), ("5.01", Some(OnBudget::Suspend), false), ("5.00", None, true)]
        {
            let endpoint = set(usd, on_budget).await;
            assert_eq!(endpoint.state == State::Suspended, is_suspended, "{usd} {on_budget:?}");
        }
        let scope = plant.platform.scope();
        let events = endpoints::events(store, scope, &endpoint_ref("chat"), Filter::default(), 10).await.unwrap();
        let suspended = events.iter().find(|event| event.kind == EventType::Suspended).unwrap();
        assert_eq!(suspended.actor.id(), "budget");
        suspend_spent(store, NOW).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_month_its_days_and_its_invoice_agree() {
    on_both(async |_, store| {
        let plant = Plant::new(store).await;
        let endpoint = plant.endpoint("chat", "3x").await;
        let start = Month::of(NOW).start();
        plant.hold(&endpoint, start.plus_millis(-DAY), Some(start.plus_millis(5 * DAY + 1_234_567))).await;
        let failed = plant.hold(&endpoint, at("01:00:00"), Some(at("02:00:00"))).await;
        let mut tx = plant.platform.fenced().await;
        holds::not_billed(&mut tx, &failed).await.unwrap();
        tx.commit().await.unwrap();
        let workspace = &plant.platform.workspace;
        let now = start.plus_millis(15 * DAY + DAY / 2);
        let found = costs::month(&plant.platform.store, &workspace.id, Month::of(now), now).await.unwrap();
        assert_eq!(found.days.len(), 16, "every day that has begun");
        let of_days: i64 = found.days.iter().map(|day| day.dedicated.nanos()).sum();
        assert_eq!(of_days, found.dedicated.cost.nanos());
        assert_eq!(found.dedicated.forecast.unwrap().nanos(), found.dedicated.cost.nanos() * 2, "half of 31 days");
        assert_eq!(found.total.cost, found.dedicated.cost);

        let invoice = invoices::invoice(&plant.platform.store, workspace.clone(), Month::of(now), now).await.unwrap();
        assert_eq!(
            (invoice.total, invoice.dedicated_cost, invoice.is_final),
            (found.total.cost, found.total.cost, false)
        );
        let line = &invoice.dedicated[0];
        assert_eq!((line.gpu_time.to_string(), line.unbilled.to_string()), ("361.028805833".into(), "3.0".into()));
        assert_eq!(line.cost, line.gpu_time.cost(NanoUsd::parse("2.50").unwrap()));
        let closed =
            invoices::invoice(&plant.platform.store, workspace.clone(), Month::of(now), now.plus_millis(60 * DAY));
        assert!(closed.await.unwrap().is_final);
        let next = Month::of(now).next();
        let rejected = costs::month(&plant.platform.store, &workspace.id, next, now).await.unwrap_err();
        assert_eq!((rejected.code(), rejected.field()), ("invalid_value", Some("month")));
    })
    .await;
}

#[tokio::test]
async fn a_workspace_does_not_see_its_neighbours_costs() {
    on_both(async |_, store| {
        let plant = Plant::new(store).await;
        let endpoint = plant.endpoint("chat", "1x").await;
        plant.hold(&endpoint, at("01:00:00"), Some(at("02:00:00"))).await;
        let organization = &plant.platform.workspace.organization;
        let seen = async |workspace: &domain::WorkspaceId| {
            let visible = [workspace.clone()].into();
            let owner = Owner::Organization(organization);
            let found = report(&plant.platform.store, owner, Some(&visible), today(), &[], today().to).await.unwrap();
            found.total.gpu_time.to_string()
        };
        assert_eq!(seen(&plant.platform.workspace.id).await, "1.0");
        assert_eq!(seen(&plant.platform.neighbour.id).await, "0.0");
    })
    .await;
}
