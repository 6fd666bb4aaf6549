//! Checks the documents offline.
//!
//! - Every page of `docs/` is in `docs/SUMMARY.md`.
//! - Every link inside the site has an existing page and anchor.
//! - Every relative link in the other Markdown files has an existing file and heading.
//! - Every repository path in `code` exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use regex_lite::Regex;

use crate::repository::Repository;

/// Pages of mdBook that repeat others.
const NOT_PAGES: [&str; 3] = ["print.html", "toc.html", "404.html"];
const FOLDERS: [&str; 9] = ["config", "crates", "deploy", "docs", "fuzz", "scripts", "tests", "web", ".github"];

pub(crate) fn check(repository: &Repository, site: &Path) -> Result<Vec<String>> {
    let mut problems = unlisted_pages(repository)?;
    problems.extend(broken_site_links(&read_site(site)?));
    problems.extend(broken_markdown_links(repository)?);
    problems.extend(missing_paths(repository)?);
    Ok(problems)
}

fn markdown_files(repository: &Repository) -> impl Iterator<Item = &str> {
    repository.files.iter().map(String::as_str).filter(|file| file.ends_with(".md"))
}

fn unlisted_pages(repository: &Repository) -> Result<Vec<String>> {
    let links = markdown_links(&repository.text("docs/SUMMARY.md")?)?;
    let listed: BTreeSet<&str> = links.iter().map(|link| split_link(link).0).collect();
    let pages = markdown_files(repository).filter_map(|file| file.strip_prefix("docs/"));
    let unlisted = pages.filter(|page| *page != "SUMMARY.md" && !listed.contains(page));
    Ok(unlisted.map(|page| format!("docs/{page}: not in docs/SUMMARY.md")).collect())
}

/// The files of the site, and what is in its pages.
type Site = BTreeMap<String, Option<Page>>;

#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

impl Page {
    fn parse(html: &str) -> Self {
        let (mut page, mut rest) = (Self::default(), html);
        while let Some((_, after)) = rest.split_once('<') {
            let (tag, after) = after.split_once('>').unwrap_or((after, ""));
            rest = after;
            // The content of a script is not HTML.
            if tag.starts_with("script") {
                rest = rest.split_once("</script>").map_or("", |(_, after)| after);
            }
            for (name, value) in attributes(tag) {
                match name {
                    "id" | "name" => page.anchors.insert(value),
                    "href" | "src" => {
                        page.links.push(value);
                        true
                    }
                    _ => false,
                };
            }
        }
        page
    }
}

/// The attributes of a tag with quoted values.
fn attributes(tag: &str) -> impl Iterator<Item = (&str, String)> {
    let pieces: Vec<&str> = tag.split('"').collect();
    let pairs: Vec<(&str, &str)> = pieces.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter().filter_map(|(before, value)| {
        let name = before.strip_suffix('=')?.rsplit([' ', '\n']).next()?;
        Some((name, value.replace("&quot;", "\"").replace("&amp;", "&")))
    })
}

fn read_site(site: &Path) -> Result<Site> {
    let (mut files, mut folders) = (Site::new(), vec![site.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(site)?.to_string_lossy().into_owned();
            let is_page = name.ends_with(".html") && !NOT_PAGES.contains(&name.as_str());
            let page = if is_page { Some(Page::parse(&fs::read_to_string(&path)?)) } else { None };
            files.insert(name, page);
        }
    }
    Ok(files)
}

fn broken_site_links(site: &Site) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, page) in site.iter().filter_map(|(name, page)| Some((name, page.as_ref()?))) {
        for link in page.links.iter().filter(|link| !is_external(link)) {
            let (path, fragment) = split_link(link);
            let target = if path.is_empty() { name.clone() } else { resolve(name, path) };
            match site.get(&target) {
                None => problems.push(format!("{name}: {link} is not a file of the site")),
                Some(Some(target)) if !fragment.is_empty() && !target.anchors.contains(fragment) => {
                    problems.push(format!("{name}: {link} is not an anchor"));
                }
                Some(_) => {}
            }
        }
    }
    problems
}

/// Whether a link has a scheme or a host.
fn is_external(link: &str) -> bool {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    link.starts_with("//") || scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// The path and the fragment of a link.
fn split_link(link: &str) -> (&str, &str) {
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    (path.split_once('?').map_or(path, |(path, _)| path), fragment)
}

/// The file of the site that a relative link on a page names.
fn resolve(page: &str, link: &str) -> String {
    let folder = if link.starts_with('/') { "" } else { page.rsplit_once('/').map_or("", |(folder, _)| folder) };
    let mut kept: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(link.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            part => kept.push(part),
        }
    }
    if kept.is_empty() { "index.html".to_owned() } else { kept.join("/") }
}

/// Checks documents outside of `docs/`, whose pages are checked as a site.
fn broken_markdown_links(repository: &Repository) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in markdown_files(repository).filter(|file| !file.starts_with("docs/")) {
        for link in markdown_links(&repository.text(file)?)?.iter().filter(|link| !is_external(link)) {
            let (path, fragment) = split_link(link);
            let target = if path.is_empty() { file.to_owned() } else { resolve(file, path) };
            if !repository.path(&target).exists() {
                problems.push(format!("{file}: {link} is not a file"));
            } else if !fragment.is_empty()
                && target.ends_with(".md")
                && !headings(&repository.text(&target)?).contains(fragment)
            {
                problems.push(format!("{file}: {link} is not a heading"));
            }
        }
    }
    Ok(problems)
}

/// The targets of links and pictures, without those in blocks of code.
fn markdown_links(text: &str) -> Result<Vec<String>> {
    let link = Regex::new(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")?;
    let text = without_fences(text);
    Ok(link.captures_iter(&text).map(|found| found[1].to_owned()).collect())
}

fn without_fences(text: &str) -> String {
    let mut fence = None;
    let mut kept = String::new();
    for line in text.lines() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, None) => {
                kept.push_str(line);
                kept.push('\n');
            }
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
        }
    }
    kept
}

/// The anchors of headings, as forges make them.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = without_fences(text);
    let titles = titles
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
    titles
        .map(|title| title.trim_start().to_lowercase().chars().filter(is_kept).collect::<String>().replace(' ', "-"))
        .collect()
}

fn missing_paths(repository: &Repository) -> Result<Vec<String>> {
    let path = Regex::new(&format!(r"^(?:{})/[\w./*{{}},-]+$", FOLDERS.join("|").replace('.', r"\.")))?;
    let mut problems = Vec::new();
    for file in markdown_files(repository) {
        for (number, line) in repository.text(file)?.lines().enumerate() {
            for span in code_spans(line).filter(|span| path.is_match(span)) {
                if !expanded(span).iter().all(|path| exists(&repository.root, path)) {
                    problems.push(format!("{file}:{}: `{span}` does not exist", number + 1));
                }
            }
        }
    }
    Ok(problems)
}

/// What is between single backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    let pieces: Vec<&str> = if line.contains("``") { Vec::new() } else { line.split('`').collect() };
    let last = pieces.len().saturating_sub(1);
    pieces.into_iter().enumerate().filter(move |(at, _)| at % 2 == 1 && *at < last).map(|(_, piece)| piece)
}

/// `a/{b,c}.rs` stands for two paths.
fn expanded(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (choices, after))) => {
            choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
        }
        None => vec![path.to_owned()],
    }
}

/// Whether a path exists; `*` stands for a part of a name.
fn exists(folder: &Path, path: &str) -> bool {
    let (first, rest) = path.trim_end_matches('/').split_once('/').unwrap_or((path.trim_end_matches('/'), ""));
    let goes_on = |entry: &Path| if rest.is_empty() { entry.exists() } else { exists(entry, rest) };
    let Some((start, end)) = first.split_once('*') else { return goes_on(&folder.join(first)) };
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let fits = name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end);
        fits && goes_on(&entry.path())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(pages: &[(&str, &str)]) -> Site {
        pages.iter().map(|(name, html)| ((*name).to_owned(), Some(Page::parse(html)))).collect()
    }

    #[test]
    fn a_page_that_is_not_in_the_summary_is_reported() {
        let files = [("docs/SUMMARY.md", "[A](a.md)"), ("docs/a.md", ""), ("docs/b/c.md", ""), ("README.md", "")];
        let (_folder, repository) = Repository::sample(&files);
        assert_eq!(unlisted_pages(&repository).unwrap(), ["docs/b/c.md: not in docs/SUMMARY.md"]);
    }

    #[test]
    fn broken_links_and_anchors_of_the_site_are_reported() {
        let html = r##"<script src="gone.js">"<a href='x'>" + '<a href="no.html">'</script>
            <a href="b/c.html#here">ok</a> <a href="https://example.org/x">ok</a> <a href="#top" id="top">ok</a>
            <a href="b/c.html#gone">anchor</a> <img src="b/gone.png">"##;
        let site = site(&[("a.html", html), ("b/c.html", r#"<h2 id="here"><a href="../a.html">up</a></h2>"#)]);
        let expected = [
            "a.html: gone.js is not a file of the site",
            "a.html: b/c.html#gone is not an anchor",
            "a.html: b/gone.png is not a file of the site",
        ];
        assert_eq!(broken_site_links(&site), expected);
    }

    #[test]
    fn broken_links_and_headings_of_other_documents_are_reported() {
        let readme = "# One `two`: three\n[a](#one-two-three) [b](docs/a.md#part) [c](mailto:a@b)\n\
            [d](#gone) ![e](docs/gone.png) [f](docs/a.md#gone)\n```\n[g](gone.md)\n# gone\n```\n";
        let (_folder, repository) =
            Repository::sample(&[("README.md", readme), ("docs/a.md", "## Part\n[x](gone.md)")]);
        let expected = [
            "README.md: #gone is not a heading",
            "README.md: docs/gone.png is not a file",
            "README.md: docs/a.md#gone is not a heading",
        ];
        assert_eq!(broken_markdown_links(&repository).unwrap(), expected);
    }

    #[test]
    fn paths_that_do_not_exist_are_reported() {
        let text = "`scripts/run`, `scripts/{run,gone}`\n`scripts/r*`, `scripts/*/run`, `scripts/`\n`other/gone` `scripts/run x`\n";
        let (_folder, repository) = Repository::sample(&[("a.md", text), ("scripts/run", "")]);
        let expected = ["a.md:1: `scripts/{run,gone}` does not exist", "a.md:2: `scripts/*/run` does not exist"];
        assert_eq!(missing_paths(&repository).unwrap(), expected);
    }
}
