//! The table: Markdown, aligned.

use super::figures::{Figure, Figures, Judged};

/// One line per figure.
pub(super) fn render(figures: &Figures, contender: &str) -> String {
    let header = ["figure", "nginx", contender, "ratio", "first target", "goal", "met?"].map(str::to_owned);
    let mut rows = vec![header];
    let judged = contender != super::gateways::DIRECT;
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

/// `judged`: the targets are meant for this contender.
fn row(figure: &Figure, judged: bool) -> [String; 7] {
    let kind = figure.kind;
    let (sign, targets) = match kind.judged {
        Judged::Ratio => ("≤ ", true),
        Judged::Added => ("≤ +", true),
        Judged::Value => ("≤ ", true),
        Judged::Not => ("", false),
    };
    let target = |value: f64| if targets { format!("{sign}{value}{}", target_unit(figure)) } else { "-".to_owned() };
    [
        format!("{} ({})", kind.label, kind.unit),
        number(figure.floor()),
        number(figure.contender()),
        compared(figure),
        target(kind.first),
        target(kind.goal),
        if judged { met(figure) } else { "-".to_owned() },
    ]
}

fn target_unit(figure: &Figure) -> String {
    match figure.kind.judged {
        Judged::Added | Judged::Value => format!(" {}", figure.kind.unit),
        Judged::Ratio | Judged::Not => String::new(),
    }
}

fn compared(figure: &Figure) -> String {
    match figure.kind.judged {
        Judged::Added => format!("{:+.3} {}", figure.added(), figure.kind.unit),
        Judged::Ratio | Judged::Value | Judged::Not if figure.ratio().is_finite() => format!("{:.2}", figure.ratio()),
        Judged::Ratio | Judged::Value | Judged::Not => "-".to_owned(),
    }
}

fn met(figure: &Figure) -> String {
    let answer = match figure.judged_value() {
        None => "-",
        Some(value) if value.is_nan() => "-",
        Some(value) if value <= figure.kind.goal => "goal",
        Some(value) if value <= figure.kind.first => "first",
        Some(_) => "no",
    };
    answer.to_owned()
}

/// Three digits that mean something.
fn number(value: f64) -> String {
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
