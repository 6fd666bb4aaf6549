//! The table of the comparison.

use std::fmt::Write as _;

use super::replay::Figures;

/// A Markdown table. Ratios are to the first row.
pub(super) fn render(rows: &[(String, Figures)]) -> String {
    let mut text = String::from(
        "| router | mean TTFT | p50 | p90 | p99 | hit rate | imbalance | failed | mean | p90 | hits |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, figures) in rows {
        let ratio = |of: fn(&Figures) -> f64| rows.first().map_or(f64::NAN, |(_, baseline)| of(figures) / of(baseline));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {:.2} s | {:.2} s | {:.2} s | {:.2} s | {:.1} % | {:.2} | {} | {:.2} × | {:.2} × | {:.1} × |",
            figures.mean(),
            figures.percentile(50),
            figures.percentile(90),
            figures.percentile(99),
            100.0 * figures.hit_rate(),
            figures.imbalance(),
            figures.failures,
            ratio(Figures::mean),
            ratio(|figures| figures.percentile(90)),
            ratio(Figures::hit_rate),
        );
    }
    text.push_str("\nSimulated seconds until the first event. The last three columns are ratios to the first row.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_the_first() {
        let rows = [("a".to_owned(), Figures::of(vec![2.0], 0)), ("b".to_owned(), Figures::of(vec![1.0], 3))];
        let table = render(&rows);
        let last = table.lines().find(|line| line.starts_with("| b")).unwrap();
        assert!(last.contains("| 3 | 0.50 × | 0.50 × |"), "{last}");
    }
}
