//! Reader for samples in the Prometheus text format.

/// No count is higher. Sums of such values are numbers, too.
const MOST: f64 = 1e18;

/// A line such as `name{label="value",…} 1.5 [timestamp]`.
pub(crate) struct Sample<'a> {
    pub(crate) name: &'a str,
    labels: &'a str,
    pub(crate) value: f64,
}

impl<'a> Sample<'a> {
    /// `None` for comments, and for values that are negative or absurd.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('#') {
            return None;
        }
        let name_end = line.find(|letter: char| letter == '{' || letter.is_whitespace())?;
        let (name, rest) = line.split_at(name_end);
        let (labels, value) = match rest.strip_prefix('{') {
            Some(inside) => inside.split_at(closing_brace(inside)?),
            None => ("", rest),
        };
        let value: f64 = value.trim_start_matches('}').split_whitespace().next()?.parse().ok()?;
        (0.0..=MOST).contains(&value).then_some(Self { name, labels, value })
    }

    /// The value of a label, as written: escapes are not decoded.
    pub(crate) fn label(&self, label: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        while let Some((name, value)) = rest.split_once("=\"") {
            let end = closing_quote(value)?;
            if name.trim_start_matches([',', ' ']) == label {
                return Some(&value[..end]);
            }
            rest = &value[end + 1..];
        }
        None
    }
}

/// Position of the first brace outside a label value.
fn closing_brace(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let next = at + text[at..].find(['"', '}'])?;
        if text[next..].starts_with('}') {
            return Some(next);
        }
        at = next + 1 + closing_quote(&text[next + 1..])? + 1;
    }
}

/// Position of the first quotation mark that is not escaped.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_contain_anything() {
        let text = r#"vllm:kv_cache_usage_perc{model_name="a\"} 9,engine=\"7",engine="0"} 0.5 1700000000"#;
        let sample = Sample::parse(text).unwrap();
        assert_eq!((sample.label("engine"), sample.name), (Some("0"), "vllm:kv_cache_usage_perc"));
        assert!((sample.value - 0.5).abs() < f64::EPSILON);
    }
}
