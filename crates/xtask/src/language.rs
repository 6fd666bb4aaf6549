//! Finds phrases that the house style replaces with ordinary technical English (docs/style.md).
//!
//! Underscores count as spaces, so names of tests and variables are checked too. A legitimate use is listed in
//! `language-allow.txt`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use regex_lite::Regex;

use crate::repository::Repository;

const ALLOW_FILE: &str = "crates/xtask/language-allow.txt";
const EXTENSIONS: [&str; 10] = ["rs", "ts", "tsx", "mjs", "md", "toml", "sh", "py", "yml", "yaml"];
/// They name the phrases.
const SKIPPED: [&str; 2] = ["crates/xtask/src/language.rs", ALLOW_FILE];

/// A text contained in every match, the phrase, what makes it a legitimate one, and the suggestion.
const PHRASES: [(&str, &str, &str, &str); 34] = [
    ("ever", "who(?:m)?ever", "", "name the actor: the client, the caller, the operator, the leader"),
    ("body", "(?:some|any|every)body", "", "name the actor: a client, any user, all nodes"),
    ("nobody", "nobody", "", "no client, no caller, nothing; or drop it"),
    ("who asks", "who asks", "", "the caller"),
    ("for ever", "for ever", "", "forever, or `until shutdown`"),
    ("as a rule", "as a rule", "", "usually, normally"),
    ("so ", "so (?:many|much|often)", r"so \w+ that\b", "give the number, or `that many`, `this much`"),
    ("so long", "so long", r"so long as\b", "give the duration, or `that long`"),
    ("said twice", "said twice", "", "idempotent"),
    ("there twice", "there twice", "", "duplicate"),
    (" right", r"put(?:s|ting)? (?:\w+ ){0,3}right", "", "normalize, fix, convert"),
    (" waited for", "(?:is|are|was|were|be) waited for", "", "`we wait for …`, or name the timeout"),
    ("in vain", "in vain", "", "without success; or name the error"),
    ("anew", "anew", "", "again, from scratch; a quota `resets`"),
    ("tells", "tells", "", "report, return, show"),
    ("tell of", "tell of", "", "report, describe"),
    ("told", "told", "", "report, notify; `unless configured otherwise`"),
    ("hear", "hears?|heard", "", "receive, listen, is notified"),
    ("patience", "patience", "", "timeout, deadline, grace period"),
    ("sight", "sight(?:ing)?s?", "", "observation, observe"),
    ("wish", "wish(?:es|ed)?", "", "intent, change, request"),
    ("dress", "dress(?:es|ed)?", "", "convert, `into_response`"),
    ("nonsense", "nonsense", "", "invalid, malformed, `BadUpstreamResponse`"),
    (" no sense", "makes? no sense", "", "is invalid, is malformed"),
    (" no", "says? no", "", "reject, return an error"),
    (" well", "means? well", "", "is healthy"),
    (" after", "look(?:s|ed|ing)? after", "", "manage, supervise"),
    (" go of", r"let(?:s|ting)? (?:\w+ )?go of", "", "release, drain"),
    (" go", r"let(?:s|ting)? (?:\w+ )?go", r"let\w* (?:\w+ )?go[^.,;:)]", "release, drain"),
    ("mend", "mend(?:s|ed|ing)?", "", "fix, repair"),
    ("for want of", "for want of", "", "for lack of, without"),
    ("by the ", "by the (?:minute|hour|day|month|gpu-hour)", "", "per minute, hourly, per GPU-hour"),
    ("what is so", "what is so", "", "the current state"),
    (
        " no ",
        r"(?:there )?(?:is|are|was|were) no \w+",
        r"there |\w+ no (?:longer|more|less|different|better|worse|such)\b",
        "`is not a …`",
    ),
];

/// Beginnings of doc comments that need the name of the item in front of them. A line may continue with `of`.
const DOC_OPENINGS: [&str; 3] = ["/// Of ", "/// That of ", "/// Those of "];

struct Phrase {
    cue: &'static str,
    pattern: Regex,
    unless: Option<Regex>,
    suggestion: &'static str,
}

impl Phrase {
    fn all() -> Result<Vec<Self>> {
        let compile = |&(cue, pattern, unless, suggestion): &(&'static str, &str, &str, &'static str)| {
            let unless = (!unless.is_empty()).then(|| Regex::new(&format!("^(?:{unless})"))).transpose()?;
            Ok(Self { cue, pattern: Regex::new(&format!(r"\b(?:{pattern})\b"))?, unless, suggestion })
        };
        PHRASES.iter().map(compile).collect()
    }

    fn find<'t>(&self, line: &'t str) -> Option<&'t str> {
        // Searching for the cue first is fast.
        if !line.contains(self.cue) {
            return None;
        }
        let legitimate = |start: usize| self.unless.as_ref().is_some_and(|unless| unless.is_match(&line[start..]));
        self.pattern.find_iter(line).find(|found| !legitimate(found.start())).map(|found| found.as_str())
    }
}

/// A text that may appear in a file, or in all.
struct Allowed {
    file: String,
    text: String,
}

/// Checks all files, or those that are one of the paths or below it.
pub(crate) fn check(repository: &Repository, paths: &[&str]) -> Result<Vec<String>> {
    let paths: Vec<PathBuf> =
        paths.iter().map(|path| fs::canonicalize(path).context(path.to_string())).collect::<Result<_>>()?;
    let is_selected = |file: &Path| paths.is_empty() || paths.iter().any(|path| file.starts_with(path));
    let (phrases, allowed) = (Phrase::all()?, read_allowed(&repository.text(ALLOW_FILE)?)?);
    let mut hits = Vec::new();
    for file in repository.files.iter().filter(|file| is_selected(&repository.path(file))) {
        if SKIPPED.contains(&file.as_str()) {
            continue;
        }
        let text = repository.text(file)?;
        if is_checked(file, &text) {
            hits.extend(check_text(file, &text, &phrases, &allowed));
        }
    }
    if !hits.is_empty() {
        hits.push(format!("{} phrases to replace; legitimate uses go to {ALLOW_FILE}", hits.len()));
    }
    Ok(hits)
}

/// Sources and documents; scripts have no extension.
fn is_checked(file: &str, text: &str) -> bool {
    match Path::new(file).extension() {
        Some(extension) => EXTENSIONS.iter().any(|known| extension == *known),
        None => text.starts_with("#!") || file.ends_with("Makefile"),
    }
}

fn read_allowed(text: &str) -> Result<Vec<Allowed>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let read = |line: &str| {
        let (file, text) = line.split_once(": ").with_context(|| format!("{ALLOW_FILE}: no colon in `{line}`"))?;
        Ok(Allowed { file: file.to_owned(), text: normalize(text.trim()) })
    };
    lines.map(read).collect()
}

fn normalize(text: &str) -> String {
    text.to_lowercase().replace('_', " ")
}

fn check_text(file: &str, text: &str, phrases: &[Phrase], allowed: &[Allowed]) -> Vec<String> {
    let mut hits = Vec::new();
    for (number, line) in text.lines().map(str::trim_start).enumerate() {
        if DOC_OPENINGS.iter().any(|opening| line.starts_with(opening)) {
            hits.push(format!("{file}:{}: \"{line}\" -> begin with what the item is: `The price of …`", number + 1));
        }
    }
    let mut text = normalize(text);
    for rule in allowed.iter().filter(|rule| rule.file == "*" || rule.file == file) {
        text = text.replace(&rule.text, "");
    }
    let phrases: Vec<&Phrase> = phrases.iter().filter(|phrase| text.contains(phrase.cue)).collect();
    for (number, line) in text.lines().enumerate() {
        for phrase in &phrases {
            if let Some(found) = phrase.find(line) {
                hits.push(format!("{file}:{}: \"{found}\" -> {}", number + 1, phrase.suggestion));
            }
        }
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(line: &str) -> Vec<String> {
        check_text("a.rs", line, &Phrase::all().unwrap(), &[])
    }

    #[test]
    fn every_phrase_is_found_in_a_bad_sample() {
        let samples = [
            "Whoever calls",
            "somebody",
            "nobody",
            "who asks",
            "for ever",
            "as a rule",
            "so many calls",
            "waits so long",
            "said twice",
            "there twice",
            "puts the body right",
            "fn a_reply_is_waited_for() {}",
            "in vain",
            "starts anew",
            "tells",
            "tell of",
            "told",
            "heard",
            "image_patience",
            "a sighting",
            "wishes",
            "dressed",
            "nonsense",
            "makes no sense",
            "says no",
            "means well",
            "looks after",
            "let it go of",
            "lets it go.",
            "mended",
            "for want of",
            "by the hour",
            "what is so",
            "it is no model",
        ];
        assert_eq!(samples.len(), PHRASES.len());
        for (sample, (cue, ..)) in samples.iter().zip(&PHRASES) {
            let found = hits(sample);
            assert!(normalize(sample).contains(cue) && !found.is_empty(), "`{sample}` is not found: {found:?}");
        }
    }

    #[test]
    fn a_doc_comment_begins_with_what_the_item_is() {
        for bad in ["    /// Of each class.", "/// That of its pool.", "/// Those of replicas."] {
            assert_eq!(hits(bad).len(), 1, "{bad}");
        }
        for good in ["/// The price\n/// of a call.", "/// Offers of the pool.", "// Of two, one wins."] {
            assert_eq!(hits(good), [] as [String; 0], "{good}");
        }
    }

    #[test]
    fn legitimate_uses_are_not_found() {
        for sample in [
            "so many that",
            "so long as it runs",
            "let it go on",
            "there is no model",
            "it is no longer here",
            "address",
            "hearts",
            "by the store",
        ] {
            assert_eq!(hits(sample), [] as [String; 0], "{sample}");
        }
    }

    #[test]
    fn a_phrase_is_found_after_a_legitimate_use_in_the_same_line() {
        assert_eq!(hits("it is no longer; it is no model").len(), 1);
    }

    #[test]
    fn an_allowed_text_is_accepted_in_its_file_only() {
        let allow = "# a comment\nscripts/postgres: owner=nobody\n";
        let script = "#!/bin/sh\nowner=nobody\n";
        let files =
            [(ALLOW_FILE, allow), ("scripts/other", script), ("scripts/postgres", script), ("LICENSE", "nobody")];
        let (_folder, repository) = Repository::sample(&files);
        let hits = check(&repository, &[]).unwrap();
        assert_eq!(hits.len(), 2, "{hits:?}");
        assert!(hits[0].starts_with("scripts/other:2: \"nobody\" -> "), "{hits:?}");
    }

    #[test]
    fn only_selected_folders_are_checked() {
        let (folder, repository) = Repository::sample(&[(ALLOW_FILE, ""), ("a/x.md", "nobody"), ("b/x.md", "nobody")]);
        let path = folder.path().join("b");
        let hits = check(&repository, &[path.to_str().unwrap()]).unwrap();
        assert!(hits.len() == 2 && hits[0].starts_with("b/x.md:1"), "{hits:?}");
    }
}
