//! Renders the figures as an aligned Markdown table.

use crate::proxy_bench::report::figures::{Figure, Figures, Judgement};

/// One line per figure.
pub(crate) fn render(figures: &Figures, contender: &str) -> String {
    let header = ["figure", "nginx", contender, "ratio", "first target", "goal", "met?"].map(str::to_owned);
    let mut rows = vec![header];
    let judged = contender != crate::proxy_bench::setup::gateways::DIRECT;
    rows.extend(figures.all.iter().map(|figure| row(figure, judged)));
    let widths: [usize; 7] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
    lines.insert(1, format!("|{}|", widths.map(|width| "-".repeat(width + 2)).join("|")));
    lines.join("\n") + "\n"
}

fn line(row: &[String; 7], widths: &[usize; 7]) -> String {
    let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!(" {cell:<width$} ")).collect();
    format!("|{}|", cells.join("|"))
}

/// `judged`: whether the targets apply to this contender.
fn row(figure: &Figure, judged: bool) -> [String; 7] {
    let kind = figure.kind;
    let (sign, targets) = match kind.judgement {
        Judgement::Ratio => ("≤ ", true),
        Judgement::Added => ("≤ +", true),
        Judgement::Value => ("≤ ", true),
        Judgement::None => ("", false),
    };
    let target = |value: f64| if targets { format!("{sign}{value}{}", target_unit(figure)) } else { "-".to_owned() };
    [
        format!("{} ({})", kind.label, kind.unit),
        number(figure.baseline()),
        number(figure.contender()),
        compared(figure),
        target(kind.first),
        target(kind.goal),
        if judged { met(figure) } else { "-".to_owned() },
    ]
}

fn target_unit(figure: &Figure) -> String {
    match figure.kind.judgement {
        Judgement::Added | Judgement::Value => format!(" {}", figure.kind.unit),
        Judgement::Ratio | Judgement::None => String::new(),
    }
}

fn compared(figure: &Figure) -> String {
    match figure.kind.judgement {
        Judgement::Added => format!("{:+.3} {}", figure.added(), figure.kind.unit),
        Judgement::Ratio | Judgement::Value | Judgement::None if figure.ratio().is_finite() => {
            format!("{:.2}", figure.ratio())
        }
        Judgement::Ratio | Judgement::Value | Judgement::None => "-".to_owned(),
    }
}

fn met(figure: &Figure) -> String {
    let verdict = match figure.judged_value() {
        None => "-",
        Some(value) if value.is_nan() => "-",
        Some(value) if value <= figure.kind.goal => "goal",
        Some(value) if value <= figure.kind.first => "first",
        Some(_) => "no",
    };
    verdict.to_owned()
}

/// Formats a number with about three significant digits.
pub(super) fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "-".to_owned(),
        _ if value >= 1_000.0 => {
            let whole = format!("{value:.0}");
            let (thousands, rest) = whole.split_at(whole.len() - 3);
            format!("{thousands},{rest}")
        }
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
