use super::*;
use crate::tokens::Tokens;
use proptest::prelude::*;

fn usd(text: &str) -> NanoUsd {
    NanoUsd::parse(text).unwrap()
}

fn moment(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn budget(window: BudgetWindow, amount: &str) -> Budget {
    Budget { window, usd: usd(amount), soft: false, raise: None }
}

#[test]
fn periods_start_and_end_in_utc() {
    let now = moment("2026-12-31T23:30:00-01:00");
    for (window, start, end) in [
        (BudgetWindow::Day, "2027-01-01T00:00:00Z", Some("2027-01-02T00:00:00Z")),
        (BudgetWindow::Month, "2027-01-01T00:00:00Z", Some("2027-02-01T00:00:00Z")),
        (BudgetWindow::Total, "1970-01-01T00:00:00Z", None),
    ] {
        let period = BudgetPeriod::of(window, now);
        assert_eq!((period.start, period.end()), (moment(start), end.map(moment)), "{window:?}");
    }
}

#[test]
fn a_raise_ends_by_itself() {
    let until = moment("2026-11-20T00:00:00Z");
    let raise = Some(BudgetRaise { usd: usd("9"), until });
    let raised = Budget { raise, ..budget(BudgetWindow::Day, "2") };
    assert_eq!(raised.cap(until.plus_millis(-1)), usd("9"));
    assert_eq!(raised.cap(until), usd("2"));
}

#[test]
fn a_raise_that_has_ended_does_not_keep_a_budget_from_being_changed() {
    let until = moment("2026-11-20T00:00:00Z");
    let raised = Budget { raise: Some(BudgetRaise { usd: usd("9"), until }), ..budget(BudgetWindow::Day, "10") };
    assert!(Budgets::edited(vec![raised], until.plus_millis(-1)).is_err());
    assert_eq!(Budgets::edited(vec![raised], until).unwrap().all(), [budget(BudgetWindow::Day, "10")]);
}

#[test]
fn a_window_has_one_budget_of_each_kind() {
    let hard = budget(BudgetWindow::Day, "2");
    let soft = Budget { soft: true, ..hard };
    let both = Budgets::new(vec![soft, budget(BudgetWindow::Total, "3"), hard]).unwrap();
    assert_eq!(both.all().len(), 3);
    assert_eq!(both.windows().windows().collect::<Vec<_>>(), [BudgetWindow::Day, BudgetWindow::Total]);
    assert_eq!(ReservedIn::from_bits(both.windows().bits()), both.windows());
    assert!(Budgets::new(vec![soft, hard, soft]).is_err());
    let no_raise = Some(BudgetRaise { usd: usd("2"), until: Timestamp::default() });
    assert!(Budgets::new(vec![Budget { raise: no_raise, ..hard }]).is_err());
}

fn prices() -> impl Strategy<Value = CallPrice> {
    let price = || prop_oneof![Just(0), 1..5_000_000_i64, 1..90_000_000_000_i64].prop_map(NanoUsd::from_nanos);
    (price(), price(), price(), price()).prop_map(|(input_per_1m, cached_input_per_1m, output_per_1m, search)| {
        CallPrice { tokens: Price { input_per_1m, cached_input_per_1m, output_per_1m }, search }
    })
}

proptest! {
    #[test]
    fn a_call_never_costs_more_than_it_reserved(
        price in prices(),
        (prompt, completion, choices) in (0..300_000_u64, 0..50_000_u64, 1..5_u64),
        percents in (0..=100_u64, 0..=100_u64, 0..=100_u64),
        share in 0..=100_u64,
    ) {
        let bound = TokenBound { prompt, completion, choices };
        let need = bound.cost(&price);
        prop_assert!(need.least <= need.total);
        let reserved = need.least + (need.total - need.least) * share / 100;
        let limited = bound.affordable(&price, reserved);
        prop_assert!(limited.completion >= completion.min(1), "enough for one token");
        prop_assert!(limited.completion <= completion);
        let prompt = prompt * percents.0 / 100;
        let used = Tokens {
            prompt,
            cached: prompt * percents.1 / 100,
            completion: limited.all_completions() * percents.2 / 100,
        };
        prop_assert!(price.charge(used).nanos().unsigned_abs() <= reserved);
    }
}
