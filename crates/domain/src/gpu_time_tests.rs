use super::*;
use proptest::prelude::*;

/// A moment of one day, from `hh:mm:ss`.
fn at(clock: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-01-05T{clock}Z")).unwrap()
}

const LATER: Timestamp = Timestamp::from_millis(i64::MAX / 4);
const ALWAYS: Span = Span { from: Timestamp::from_millis(0), to: LATER };

fn hold(gpu_count: u32, from: &str, to: &str) -> Hold {
    let ended_at = at(to);
    Hold { gpu_count, started_at: at(from), last_seen_at: ended_at, ended_at: Some(ended_at), billable: true }
}

fn price(text: &str) -> Vec<PriceSince> {
    vec![PriceSince { valid_from: at("00:00:00"), price_per_gpu_hour: NanoUsd::parse(text).unwrap() }]
}

fn hours(hold: &Hold) -> String {
    hold.gpu_time(ALWAYS, LATER).to_string()
}

#[test]
fn the_worked_holds() {
    let (r1, r2) = (hold(2, "10:00:00", "12:30:00"), hold(2, "11:15:30", "11:45:30"));
    assert_eq!((hours(&r1), hours(&r2)), ("5.0".into(), "1.0".into()));
    let by_hour: Vec<String> = r1.by_hour(ALWAYS, LATER).iter().map(|(_, part)| part.to_string()).collect();
    assert_eq!(by_hour, ["2.0", "2.0", "1.0"]);
    let known = GpuUsage { holds: &[r1, r2], prices: &price("2.50"), busy: &BTreeMap::new() };
    let total = known.total(ALWAYS, LATER);
    assert_eq!((total.gpu_time.to_string(), total.cost.to_string()), ("6.0".into(), "15.00".into()));

    let lost = Hold { last_seen_at: at("13:20:15"), ended_at: None, ..hold(2, "13:00:00", "13:25:00") };
    let r3 = Hold { ended_at: Some(lost.last_seen_at), ..lost };
    assert_eq!(r3.gpu_time(ALWAYS, at("13:25:00")).get(), 1_215 * 2 * 1_000);
    assert_eq!(hours(&r3), "0.675");

    let warm = Hold { ended_at: Some(at("00:00:00").plus_millis(24 * 3_600_000)), ..hold(4, "00:00:00", "00:00:00") };
    assert_eq!(hours(&warm), "96.0");
    assert_eq!(GpuUsage { holds: &[], ..known }.total(ALWAYS, LATER).gpu_time, GpuMillis::default());
}

#[test]
fn an_open_hold_counts_until_now_but_at_most_two_minutes_after_it_was_last_seen() {
    let open = Hold { last_seen_at: at("10:10:00"), ended_at: None, ..hold(1, "10:00:00", "10:00:00") };
    for (now, seconds) in [("10:05:00", 300), ("10:11:00", 660), ("10:12:00", 720), ("11:00:00", 720)] {
        assert_eq!(open.gpu_time(ALWAYS, at(now)).get(), seconds * 1_000, "{now}");
    }
}

#[test]
fn failed_starts_are_shown_but_not_billed() {
    let failed = Hold { billable: false, ..hold(2, "10:00:00", "11:00:00") };
    let known = GpuUsage { holds: &[failed], prices: &price("2.50"), busy: &BTreeMap::new() };
    let total = known.total(ALWAYS, LATER);
    assert_eq!((total.gpu_time.to_string(), total.cost), ("2.0".into(), NanoUsd::ZERO));
}

#[test]
fn each_price_version_is_rounded_once() {
    let hold = hold(1, "10:00:00", "12:00:00");
    let since = |clock, nanos| PriceSince { valid_from: at(clock), price_per_gpu_hour: NanoUsd::from_nanos(nanos) };
    let prices = [since("10:30:00", 1), since("11:00:00", 1_000), since("11:30:00", 3)];
    // One hour at 1 (the first version covers what was before it), half an hour at 1,000, half an hour at 3.
    assert_eq!(cost(&[hold], &prices, ALWAYS, LATER).nanos(), 1 + 500 + 2);
    assert_eq!(GpuMillis::new(1_799_999).cost(NanoUsd::from_nanos(1)), NanoUsd::ZERO);
    assert_eq!(GpuMillis::new(1_800_000).cost(NanoUsd::from_nanos(1)).nanos(), 1);
    assert_eq!(cost(&[hold], &[], ALWAYS, LATER), NanoUsd::ZERO);
}

#[test]
fn the_worked_windows() {
    let of = |percent: u64| GpuBusy::from_millionths(percent * 10_000);
    assert!((GpuBusy::mean(4, [of(80), of(20), of(0), of(0)]).fraction() - 0.25).abs() < 1e-9);
    assert!((GpuBusy::mean(4, [of(80), of(20), of(0)]).fraction() - 0.25).abs() < 1e-9, "not measured counts as idle");
    assert_eq!(GpuBusy::mean(3, [of(90), of(10), of(20)]), of(40));
    assert_eq!(GpuBusy::mean(0, []), GpuBusy::default());
}

#[test]
fn every_window_with_a_hold_counts_once() {
    let holds = [hold(1, "10:04:00", "10:11:00"), hold(4, "10:06:00", "10:07:00"), hold(1, "10:30:00", "10:30:00")];
    let windows: Vec<String> =
        held_windows(&holds, ALWAYS, LATER).iter().map(|start| start.to_string()[11..16].to_owned()).collect();
    assert_eq!(windows, ["10:00", "10:05", "10:10"]);
    let busy = BTreeMap::from([(at("10:05:00"), GpuBusy::from_millionths(900_000))]);
    let known = GpuUsage { holds: &holds, prices: &[], busy: &busy };
    assert_eq!(known.total(ALWAYS, LATER).busy.millionths(), 300_000);
}

#[test]
fn lines_are_the_hours_or_days_with_a_hold() {
    let holds = [hold(2, "10:30:00", "11:15:00"), hold(2, "13:00:00", "13:30:00")];
    let known = GpuUsage { holds: &holds, prices: &price("1.00"), busy: &BTreeMap::new() };
    let shown = |grain| {
        let line = |line: &UsageLine| format!("{} {} {}", &line.start.to_string()[11..16], line.gpu_time, line.cost);
        known.lines(ALWAYS, grain, LATER).iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(shown(Grain::Hour), ["10:00 1.0 1.00", "11:00 0.5 0.50", "13:00 1.0 1.00"]);
    assert_eq!(shown(Grain::Day), ["00:00 2.5 2.50"]);
}

#[test]
fn ticks_of_an_hour_add_up_to_an_hour() {
    let hold = hold(1, "10:00:00", "11:00:00");
    let tick = |n: i64| Span {
        from: at("10:00:00").plus_millis(n * 10_000),
        to: at("10:00:00").plus_millis((n + 1) * 10_000),
    };
    let sum: GpuMillis = (0..360).map(|n| hold.gpu_time(tick(n), LATER)).sum();
    assert_eq!(sum.get(), 3_600_000);
}

proptest! {
    #[test]
    fn the_hours_of_a_hold_add_up_to_it(
        start in 0..10_000_000_i64, length in 0..100_000_000_i64, gpu_count in 1..9_u32, a in 0..120_000_000_i64, b in 0..120_000_000_i64,
    ) {
        let started_at = Timestamp::from_millis(start);
        let ended_at = started_at.plus_millis(length);
        let hold = Hold { gpu_count, started_at, last_seen_at: ended_at, ended_at: Some(ended_at), billable: true };
        let within = Span { from: Timestamp::from_millis(a.min(b)), to: Timestamp::from_millis(a.max(b)) };
        let parts = hold.by_hour(within, LATER);
        prop_assert_eq!(parts.iter().map(|(_, part)| *part).sum::<GpuMillis>(), hold.gpu_time(within, LATER));
        for pair in parts.windows(2) {
            prop_assert!(pair[0].0 < pair[1].0);
        }
    }
}
