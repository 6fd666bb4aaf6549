//! Facts in documents, compared with the code and with data files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use domain::usage::CallSurface;
use toml_edit::{DocumentMut, Table};

use crate::guards::{quoted, read};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_glossary_names_every_surface() {
    let folders = fs::read_dir(root().join("crates/server/src/surface")).unwrap().map(|entry| entry.unwrap().path());
    let with_envelope = folders.filter(|folder| folder.join("error.rs").is_file());
    let surfaces = with_envelope.map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned());
    // `inference` is what the surfaces of inference share.
    let surfaces = surfaces.filter(|name| name != "inference");
    let calls = CallSurface::ALL.map(|surface| surface.as_str().to_owned());
    let in_code: BTreeSet<String> = surfaces.chain(calls).collect();
    let glossary = read("docs/glossary.md");
    let row = glossary.lines().find(|line| line.starts_with("| **surface** |")).unwrap();
    assert_eq!(quoted(row).collect::<BTreeSet<_>>(), in_code);
}

#[test]
fn the_map_names_every_crate() {
    let architecture = read("ARCHITECTURE.md");
    let map = architecture.split("```").nth(1).unwrap();
    let words = map.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let words: BTreeSet<&str> = words.collect();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(words.contains(name.as_str()), "ARCHITECTURE.md: the map lacks the crate `{name}`");
    }
}

#[test]
fn the_index_lists_every_decision_and_explains_every_gap() {
    let index = read("docs/decisions/index.md");
    let rows: Vec<&str> = index.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| #")).collect();
    let numbers = rows.iter().map(|row| row.split('|').nth(1).unwrap().trim().parse::<usize>().unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), (1..=rows.len()).collect::<Vec<_>>(), "numbers without a row");
    let linked: BTreeSet<String> =
        rows.iter().filter_map(|row| Some(row.split_once("](")?.1.split_once(')')?.0.to_owned())).collect();
    let files = fs::read_dir(root().join("docs/decisions")).unwrap();
    let files = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.filter(|name| name != "index.md").collect::<BTreeSet<_>>(), linked);
    for (number, row) in (1..).zip(&rows).filter(|(_, row)| row.contains("](")) {
        assert!(row.contains(&format!("]({number:04}-")), "{row}");
    }
}

/// A figure of docs/data/performance.toml.
struct Figure {
    label: String,
    baseline: f64,
    forebay: f64,
    /// The ratio to the baseline, or the difference. `None` if the baseline is zero.
    compared: Option<f64>,
}

impl Figure {
    fn of(table: &Table) -> Self {
        let text = |name: &str| table[name].as_str().unwrap();
        let number = |name: &str| table.get(name).and_then(|value| value.as_float());
        Self {
            label: format!("{} ({})", text("figure"), text("unit")),
            baseline: number("baseline").unwrap(),
            forebay: number("forebay").unwrap(),
            compared: number("ratio").or_else(|| number("added")),
        }
    }

    fn ratio(&self) -> f64 {
        self.compared.unwrap_or_else(|| panic!("{} is not compared", self.label))
    }
}

fn measured() -> Vec<Figure> {
    let data: DocumentMut = read("docs/data/performance.toml").parse().unwrap();
    data["figures"].as_array_of_tables().unwrap().iter().map(Figure::of).collect()
}

fn figure<'a>(figures: &'a [Figure], label: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.label.starts_with(label)).unwrap_or_else(|| panic!("{label} was not measured"))
}

/// The cells of the first row of a table that begins with this text.
fn row<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let found = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no row `{start}`"));
    found.split('|').skip(1).map(str::trim).collect()
}

/// The number at the start of a cell: `1.65`, `+22 µs` or `42,991`.
fn number(cell: &str) -> f64 {
    let end = cell.find(|letter: char| !letter.is_ascii_digit() && !"+-.,".contains(letter)).unwrap_or(cell.len());
    cell[..end].replace(',', "").parse().unwrap_or_else(|_| panic!("`{cell}` does not begin with a number"))
}

#[test]
#[expect(clippy::float_cmp, reason = "both sides are read from decimal texts")]
fn published_figures_are_those_of_the_newest_measurement() {
    let figures = measured();
    let page = read("docs/performance.md");
    let (_, newest) = page.split_once("\n## Gateway against nginx\n").unwrap();
    for figure in &figures {
        let cells = row(newest, &format!("| {} |", figure.label));
        let shown = [cells[1], cells[2]].map(number);
        assert_eq!(shown, [figure.baseline, figure.forebay], "{}", figure.label);
        let compared = if cells[3] == "-" { None } else { Some(number(cells[3])) };
        assert_eq!(compared, figure.compared, "{}", figure.label);
    }
    let [unary, medium, large, event] =
        ["unary, 1 KiB prompt", "unary, 32 KiB prompt", "unary, 256 KiB prompt", "SSE event, 20 ms paced"]
            .map(|label| figure(&figures, label));

    let cells = row(&page, "| **Forebay**, everything on |");
    for (cell, figure) in [cells[1], cells[3], cells[4], cells[5]].into_iter().zip([unary, event, medium, large]) {
        let (forebay, ratio) = cell.strip_suffix(')').unwrap().split_once(" (").unwrap();
        assert_eq!([forebay, ratio].map(number), [figure.forebay, figure.ratio()], "{}", figure.label);
    }

    let readme = read("README.md");
    for (start, figure) in [("| CPU per small call", unary), ("| CPU per streamed event", event)] {
        assert_eq!(row(&readme, start)[1], format!("**{:.2}**", figure.ratio()), "README.md: {start}");
    }

    let sizing = format!(
        "A small call costs about {:.0} µs of CPU, an event of a stream about {:.0} µs,",
        unary.forebay, event.forebay
    );
    assert!(read("docs/production.md").replace('\n', " ").contains(&sizing), "docs/production.md: {sizing}");
}

#[test]
fn documents_packages_and_the_chart_name_the_version_of_the_program() {
    let version = env!("CARGO_PKG_VERSION");
    let named = [
        ("README.md", format!("Version **{version}**")),
        ("README.md", format!("forebay_{version}-1_amd64.deb")),
        ("CHANGELOG.md", format!("\n## {version} - ")),
        ("docs/index.md", format!("Version {version}.")),
        ("docs/production.md", format!("forebay-{version}-x86_64-linux.tar.xz")),
        ("config/example.toml", format!("registry.example.com/forebay:{version}")),
        ("deploy/helm/forebay/Chart.yaml", format!("\nversion: {version}\nappVersion: \"{version}\"")),
        ("deploy/kubernetes/overlays/small/kustomization.yaml", format!("newTag: \"{version}\"")),
        ("web/package.json", format!("\"version\": \"{version}\"")),
    ];
    for (path, text) in named {
        assert!(read(path).contains(&text), "{path} does not contain `{text}`");
    }
}
