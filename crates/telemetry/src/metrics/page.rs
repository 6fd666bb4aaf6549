//! Prometheus text format, version 0.0.4.

use super::families::{Family, MetricType};
use super::histogram::Snapshot;
use std::fmt::Write as _;

pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text of `/metrics`, family by family.
#[derive(Default)]
pub struct Page {
    text: String,
}

/// Writes the samples of one family.
pub struct Samples<'a> {
    text: &'a mut String,
    family: &'static Family,
}

impl Page {
    /// Opens a family. Its header is written even if it has no samples.
    pub fn family(&mut self, family: &'static Family) -> Samples<'_> {
        let _ = writeln!(self.text, "# HELP {} {}", family.name, family.help);
        let _ = writeln!(self.text, "# TYPE {} {}", family.name, family.kind.as_str());
        Samples { text: &mut self.text, family }
    }

    /// A family with one sample and no labels.
    pub fn whole(&mut self, family: &'static Family, value: u64) {
        self.family(family).whole(&[], value);
    }

    pub fn flag(&mut self, family: &'static Family, value: bool) {
        self.whole(family, u64::from(value));
    }

    pub fn real(&mut self, family: &'static Family, value: f64) {
        self.family(family).real(&[], value);
    }

    pub fn finish(self) -> String {
        self.text
    }
}

impl Samples<'_> {
    /// Writes a sample; `labels` are the values of the family's labels, in their order.
    pub fn whole(&mut self, labels: &[&str], value: u64) {
        self.start("", labels, None);
        let _ = writeln!(self.text, " {value}");
    }

    pub fn real(&mut self, labels: &[&str], value: f64) {
        self.start("", labels, None);
        let _ = writeln!(self.text, " {value}");
    }

    pub(super) fn histogram(&mut self, labels: &[&str], seen: &Snapshot) {
        debug_assert_eq!(self.family.kind, MetricType::Histogram);
        let mut below = 0;
        for (bound, count) in seen.bounds.iter().zip(&seen.counts) {
            below += count;
            self.start("_bucket", labels, Some(&bound.to_string()));
            let _ = writeln!(self.text, " {below}");
        }
        let total: u64 = seen.counts.iter().sum();
        self.start("_bucket", labels, Some("+Inf"));
        let _ = writeln!(self.text, " {total}");
        self.start("_sum", labels, None);
        let _ = writeln!(self.text, " {}", seen.sum_seconds);
        self.start("_count", labels, None);
        let _ = writeln!(self.text, " {total}");
    }

    /// Writes the name and the labels.
    fn start(&mut self, suffix: &str, labels: &[&str], bound: Option<&str>) {
        assert_eq!(labels.len(), self.family.labels.len(), "{} has other labels", self.family.name);
        self.text.push_str(self.family.name);
        self.text.push_str(suffix);
        let own = self.family.labels.iter().copied().zip(labels.iter().copied());
        let mut before = '{';
        for (name, value) in own.chain(bound.map(|bound| ("le", bound))) {
            self.text.push(before);
            self.text.push_str(name);
            self.text.push_str("=\"");
            push_escaped(self.text, value);
            self.text.push('"');
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
    }
}

fn push_escaped(text: &mut String, value: &str) {
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::families;
    use super::super::histogram::{Histogram, TIME_PER_OUTPUT_TOKEN_BOUNDS};
    use super::*;
    use expect_test::expect;
    use std::time::Duration;

    #[test]
    fn samples_have_their_labels_and_histograms_add_up() {
        let mut page = Page::default();
        page.flag(&families::LEADER, true);
        page.family(&families::MODEL_UP).whole(&["odd\"\\\nname"], 1);
        let histogram = Histogram::new(1, TIME_PER_OUTPUT_TOKEN_BOUNDS);
        for millis in [5, 10, 60, 9_000] {
            histogram.observe(0, Duration::from_millis(millis));
        }
        page.family(&families::TIME_PER_OUTPUT_TOKEN).histogram(&["acme/tiny"], &histogram.read());
        let text = page.finish();
        let shown = text.lines().filter(|line| !line.contains("le=\"0.") || line.contains("le=\"0.0"));
        expect![[r#"
            # HELP forebay_leader 1 while this node leads the control plane
            # TYPE forebay_leader gauge
            forebay_leader 1
            # HELP forebay_model_up 1 while a replica of a model of the catalogue takes calls
            # TYPE forebay_model_up gauge
            forebay_model_up{model="odd\"\\\nname"} 1
            # HELP forebay_time_per_output_token_seconds Between the first event of a stream and its end, for each token after the first
            # TYPE forebay_time_per_output_token_seconds histogram
            forebay_time_per_output_token_seconds_bucket{model="acme/tiny",le="0.01"} 2
            forebay_time_per_output_token_seconds_bucket{model="acme/tiny",le="0.025"} 2
            forebay_time_per_output_token_seconds_bucket{model="acme/tiny",le="0.05"} 2
            forebay_time_per_output_token_seconds_bucket{model="acme/tiny",le="0.075"} 3
            forebay_time_per_output_token_seconds_bucket{model="acme/tiny",le="1"} 3
            forebay_time_per_output_token_seconds_bucket{model="acme/tiny",le="2.5"} 3
            forebay_time_per_output_token_seconds_bucket{model="acme/tiny",le="+Inf"} 4
            forebay_time_per_output_token_seconds_sum{model="acme/tiny"} 9.075
            forebay_time_per_output_token_seconds_count{model="acme/tiny"} 4"#]]
        .assert_eq(&shown.collect::<Vec<_>>().join("\n"));
    }
}
