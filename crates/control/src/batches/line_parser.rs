//! Parses the lines of an input file, and finds their problems.

use super::content::Content;
use super::{BatchBounds, BatchError};
use domain::BatchId;
use domain::batches::{BatchEndpoint, BatchProblem, MAX_PROBLEMS};
use domain::model::Modality;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use store::batches::NewLine;
use store::content_keys::Scope;

/// The most characters of a `custom_id`.
const MAX_CUSTOM_ID: usize = 512;
/// The most embedding inputs of a batch.
const MAX_EMBEDDING_INPUTS: u64 = 50_000;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The most characters of a value that a problem repeats.
const SHOWN: usize = 100;

/// The modality of the model of this name, if the creator of a batch may call it.
pub type FindModality = Arc<dyn Fn(&str) -> Option<Modality> + Send + Sync>;

#[derive(Deserialize)]
struct LineRow<'a> {
    #[serde(borrow)]
    custom_id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BodyRow<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    stream: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// The state of reading a file, which moves between the store and the thread that parses.
pub(super) struct LineParser {
    batch: BatchId,
    endpoint: BatchEndpoint,
    bounds: BatchBounds,
    content: Content,
    find_modality: FindModality,
    /// The beginning of a line whose end was not read.
    carry: Vec<u8>,
    /// Lines of the file that were read.
    number: u64,
    /// Those that are not empty.
    pub(super) lines: u64,
    ids: SeenIds,
    embedding_inputs: u64,
    pub(super) models: Models,
    pub(super) problems: Vec<BatchProblem>,
    /// Valid lines that are still to be stored.
    pub(super) valid: Vec<NewLine>,
}

/// The ids of lines. A file may have a hundred megabytes of them, so only their hashes are kept, under keys that no client knows.
#[derive(Default)]
struct SeenIds {
    keys: [RandomState; 2],
    hashes: HashSet<[u64; 2]>,
}

impl SeenIds {
    /// Whether the id is new.
    fn insert(&mut self, id: &str) -> bool {
        self.hashes.insert(self.keys.each_ref().map(|key| key.hash_one(id)))
    }
}

/// The models that lines name.
pub(super) enum Models {
    None,
    One(String),
    Several,
}

impl LineParser {
    pub(super) fn new(
        batch: BatchId,
        endpoint: BatchEndpoint,
        bounds: BatchBounds,
        content: Content,
        find_modality: FindModality,
    ) -> Self {
        Self {
            batch,
            endpoint,
            bounds,
            content,
            find_modality,
            carry: Vec::new(),
            number: 0,
            lines: 0,
            ids: SeenIds::default(),
            embedding_inputs: 0,
            models: Models::None,
            problems: Vec::new(),
            valid: Vec::new(),
        }
    }

    /// Parses the complete lines of a chunk, or the last line at the end of the file.
    pub(super) fn parsed(mut self, chunk: Option<Vec<u8>>) -> Self {
        let Some(chunk) = chunk else {
            let last = std::mem::take(&mut self.carry);
            self.line(&last);
            return self;
        };
        let mut rest = &chunk[..];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, later) = (&rest[..end], &rest[end + 1..]);
            if self.carry.is_empty() {
                self.line(line);
            } else {
                let mut whole = std::mem::take(&mut self.carry);
                whole.extend_from_slice(line);
                self.line(&whole);
            }
            self.number += 1;
            rest = later;
            if self.problems.len() >= MAX_PROBLEMS {
                return self;
            }
        }
        // A longer line is rejected, whatever else it has.
        let room = usize::try_from(self.bounds.line_bytes + 1).unwrap_or(usize::MAX).saturating_sub(self.carry.len());
        self.carry.extend_from_slice(&rest[..rest.len().min(room)]);
        self
    }

    fn line(&mut self, line: &[u8]) {
        let is_too_long = line.len() as u64 > self.bounds.line_bytes;
        // Some editors begin a file with a byte order mark.
        let line = if self.number == 0 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        let line = line.trim_ascii();
        if line.is_empty() && !is_too_long {
            return;
        }
        self.lines += 1;
        if self.lines > self.bounds.file_lines {
            if self.lines == self.bounds.file_lines + 1 {
                let message = BatchError::TooManyLines { limit: self.bounds.file_lines }.to_string();
                self.problem(None, "too_many_lines", &message, "");
            }
            return;
        }
        let checked = if is_too_long {
            Err(("payload_too_large", format!("the line has more than {} bytes", self.bounds.line_bytes), ""))
        } else {
            self.check(line)
        };
        if let Err((code, message, param)) = checked {
            self.problem(Some(self.number + 1), code, &message, param);
        }
    }

    fn check(&mut self, line: &[u8]) -> Result<(), (&'static str, String, &'static str)> {
        let invalid = |_| ("invalid_json_line", "the line is not a JSON object of the expected form".to_owned(), "");
        if line.first() != Some(&b'{') {
            return Err(("invalid_json_line", "the line is not a JSON object".to_owned(), ""));
        }
        let row: LineRow<'_> = serde_json::from_slice(line).map_err(invalid)?;
        let missing = |param: &'static str| ("missing_parameter", format!("`{param}` is missing"), param);
        let custom_id = row.custom_id.filter(|id| id.get() != "null").ok_or_else(|| missing("custom_id"))?;
        let custom_id: Cow<'_, str> = serde_json::from_str(custom_id.get())
            .map_err(|_| ("invalid_value", "`custom_id` must be a string".to_owned(), "custom_id"))?;
        // PostgreSQL stores no zero bytes.
        if custom_id.is_empty() || custom_id.chars().count() > MAX_CUSTOM_ID || custom_id.contains('\0') {
            let message = format!("`custom_id` must have 1 to {MAX_CUSTOM_ID} characters other than zero bytes");
            return Err(("invalid_value", message, "custom_id"));
        }
        if !self.ids.insert(&custom_id) {
            let message = format!("another line has the `custom_id` `{}`", shown(&custom_id));
            return Err(("duplicate_custom_id", message, "custom_id"));
        }
        match row.method.as_deref() {
            None => return Err(missing("method")),
            Some("POST") => {}
            Some(_) => return Err(("invalid_method", "`method` must be `POST`".to_owned(), "method")),
        }
        let url = self.endpoint.as_str();
        match row.url.as_deref() {
            None => return Err(missing("url")),
            Some(found) if found == url => {}
            Some(_) => return Err(("invalid_url", format!("`url` must be `{url}`, the endpoint of the batch"), "url")),
        }
        let body = row.body.filter(|body| body.get() != "null").ok_or_else(|| missing("body"))?;
        if !body.get().starts_with('{') {
            return Err(("invalid_value", "`body` must be an object".to_owned(), "body"));
        }
        self.check_body(body.get())?;
        let scope = Scope::BatchLine { batch: &self.batch, line: &(self.number + 1).to_string() };
        let content = self.content.seal(scope, body.get().as_bytes().to_vec());
        // What follows a problem is checked, too, but it will not run.
        if self.problems.is_empty() {
            self.valid.push(NewLine { number: self.number + 1, custom_id: custom_id.into_owned(), content });
        }
        Ok(())
    }

    fn check_body(&mut self, body: &str) -> Result<(), (&'static str, String, &'static str)> {
        let BodyRow { model, stream, input } = serde_json::from_str(body)
            .map_err(|_| ("invalid_value", "`body` is not a valid object".to_owned(), "body"))?;
        let model = model.filter(|model| model.get() != "null");
        let model = model.ok_or_else(|| ("missing_parameter", "`body.model` is missing".to_owned(), "body.model"))?;
        let model: Cow<'_, str> = serde_json::from_str(model.get())
            .map_err(|_| ("invalid_value", "`body.model` must be a string".to_owned(), "body.model"))?;
        if stream.is_some_and(|stream| !matches!(stream.get(), "false" | "null")) {
            let message = "the response to a line cannot be streamed; leave `stream` out".to_owned();
            return Err(("invalid_value", message, "body.stream"));
        }
        let is_same = matches!(&self.models, Models::One(known) if *known == *model);
        if !is_same {
            let Some(found) = (self.find_modality)(&model) else {
                let message = format!("there is no model `{}` that the creator of the batch may call", shown(&model));
                return Err(("model_not_found", message, "body.model"));
            };
            let needed = self.endpoint.modality();
            if found != needed {
                let (has, asked) = (found.purpose(), needed.purpose());
                let message = format!("`{}` is a model for {has}, not for {asked}", shown(&model));
                return Err(("invalid_value", message, "body.model"));
            }
            self.models = match self.models {
                Models::None => Models::One(model.into_owned()),
                Models::One(_) | Models::Several => Models::Several,
            };
        }
        if self.endpoint == BatchEndpoint::Embeddings {
            let before = self.embedding_inputs;
            self.embedding_inputs += input.map_or(1, |input| inputs(input.get()));
            if before <= MAX_EMBEDDING_INPUTS && self.embedding_inputs > MAX_EMBEDDING_INPUTS {
                let message = format!("a batch may have at most {MAX_EMBEDDING_INPUTS} embedding inputs");
                return Err(("too_many_inputs", message, "body.input"));
            }
        }
        Ok(())
    }

    pub(super) fn problem(&mut self, line: Option<u64>, code: &str, message: &str, param: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            let param = (!param.is_empty()).then(|| param.to_owned());
            self.problems.push(BatchProblem { code: code.to_owned(), line, message: message.to_owned(), param });
        }
        self.valid.clear();
    }
}

/// The number of texts of an embedding request.
fn inputs(json: &str) -> u64 {
    match serde_json::from_str(json) {
        // A list of tokens is one text.
        Ok(Value::Array(all)) if all.iter().any(|one| !one.is_number()) => all.len() as u64,
        _ => 1,
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod fuzz_tests {
    use super::*;
    use fuzz::Fuzz;

    const WORDS: &[&str] = &[
        "\n",
        "\r\n",
        "\u{feff}",
        ",\"custom_id\":\"b\"",
        ",\"method\":\"GET\"",
        "/v1/embeddings",
        ",\"stream\":true",
        "{\"model\":\"acme/a\"}",
        "acme/embedding",
        "null",
        "1e400",
        "\\ud800",
        "\u{e9}",
    ];

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> LineParser {
        let parser = tests::parser(BatchEndpoint::Chat);
        pieces.into_iter().fold(parser, |parser, piece| parser.parsed(Some(piece.into()))).parsed(None)
    }

    /// A file has the same lines, or the same problems, however it arrives, and each line has what is in the file.
    #[test]
    fn batch_lines() {
        Fuzz::new("batch-lines").words(WORDS).run(|bytes| {
            let (whole, cut) = (read([bytes]), read(fuzz::pieces(bytes)));
            assert_eq!((cut.valid, cut.problems), (whole.valid.clone(), whole.problems), "in pieces");
            let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
            let mut rows = (1_u64..).zip(text.split(|byte| *byte == b'\n'));
            for NewLine { number, custom_id, content } in whole.valid {
                let (_, row) = rows.find(|(at, _)| *at == number).expect("the line is in the file");
                let read = |json: &[u8]| serde_json::from_slice::<Value>(json.trim_ascii());
                let (Ok(row), Ok(body)) = (read(row), read(&content.bytes)) else { continue };
                assert_eq!((&row["custom_id"], &row["body"]), (&Value::String(custom_id), &body));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Timestamp;
    use std::time::Duration;
    use store::stored_bytes::MaxBytes;

    pub(super) fn parser(endpoint: BatchEndpoint) -> LineParser {
        let bounds = BatchBounds {
            file_bytes: 1 << 20,
            file_lines: 1_000,
            max_bytes: MaxBytes { workspace: 1 << 30, organization: 1 << 30, total: 1 << 30 },
            retention: Duration::from_secs(1),
            open_batches: 1,
            queued_lines: 1,
            line_bytes: 1_000,
        };
        let batch = BatchId::new(Timestamp::from_millis(1), 1);
        let find_modality: FindModality = Arc::new(|model| match model {
            "acme/embedding" => Some(Modality::Embedding),
            _ => model.starts_with("acme/").then_some(Modality::Chat),
        });
        LineParser::new(batch, endpoint, bounds, Content::new(None), find_modality)
    }

    fn parse(text: &str) -> LineParser {
        parser(BatchEndpoint::Chat).parsed(Some(text.into())).parsed(None)
    }

    fn line(id: &str, body: &str) -> String {
        format!(r#"{{"custom_id":"{id}","method":"POST","url":"/v1/chat/completions","body":{body}}}"#)
    }

    const BODY: &str = r#"{"model":"acme/a","messages":[]}"#;

    #[test]
    fn every_problem_names_its_line_code_and_member() {
        let good = line("a", BODY);
        for (bad, code, param) in [
            ("nothing".to_owned(), "invalid_json_line", None),
            ("[1]".to_owned(), "invalid_json_line", None),
            ("{\"custom_id\":".to_owned(), "invalid_json_line", None),
            (line("b", BODY).replace("\"custom_id\":\"b\",", ""), "missing_parameter", Some("custom_id")),
            (line("b", BODY).replace("\"b\"", "7"), "invalid_value", Some("custom_id")),
            (line("", BODY), "invalid_value", Some("custom_id")),
            (line("a", BODY), "duplicate_custom_id", Some("custom_id")),
            (line("b", BODY).replace("POST", "GET"), "invalid_method", Some("method")),
            (line("b", BODY).replace("/v1/chat/completions", "/v1/embeddings"), "invalid_url", Some("url")),
            (line("b", "null"), "missing_parameter", Some("body")),
            (line("b", "[]"), "invalid_value", Some("body")),
            (line("b", "{}"), "missing_parameter", Some("body.model")),
            (line("b", r#"{"model":"other/x"}"#), "model_not_found", Some("body.model")),
            (line("b", r#"{"model":"acme/embedding"}"#), "invalid_value", Some("body.model")),
            (line("b", r#"{"model":"acme/a","stream":true}"#), "invalid_value", Some("body.stream")),
            (line("b", &format!(r#"{{"model":"acme/a","x":"{}"}}"#, "x".repeat(1_000))), "payload_too_large", None),
        ] {
            let parsed = parse(&format!("{good}\n\n{bad}\n"));
            let [problem] = &parsed.problems[..] else { panic!("{bad}: {:?}", parsed.problems) };
            assert_eq!((problem.code.as_str(), problem.line), (code, Some(3)), "{bad}");
            assert_eq!(problem.param.as_deref(), param, "{bad}");
            assert!(parsed.valid.is_empty());
        }
    }

    #[test]
    fn lines_are_the_same_however_the_file_is_cut() {
        let text: String = (0..5).map(|number| line(&format!("ü{number}"), BODY) + "\r\n").collect();
        let text = text.trim_end();
        for cut in 0..text.len() {
            let (first, rest) = text.as_bytes().split_at(cut);
            let parsed = parser(BatchEndpoint::Chat).parsed(Some(first.into())).parsed(Some(rest.into())).parsed(None);
            assert_eq!(parsed.problems, []);
            let ids: Vec<_> = parsed.valid.iter().map(|line| (line.number, line.custom_id.as_str())).collect();
            assert_eq!(ids, [(1, "ü0"), (2, "ü1"), (3, "ü2"), (4, "ü3"), (5, "ü4")]);
            assert!(parsed.valid.iter().all(|line| line.content.bytes == BODY.as_bytes()));
        }
    }

    #[test]
    fn a_file_may_begin_with_a_byte_order_mark() {
        let text = format!("\u{feff}{}\n{}", line("a", BODY), line("b", BODY));
        for cut in 0..4 {
            let (first, rest) = text.as_bytes().split_at(cut);
            let parsed = parser(BatchEndpoint::Chat).parsed(Some(first.into())).parsed(Some(rest.into())).parsed(None);
            assert_eq!((parsed.problems.len(), parsed.valid.len()), (0, 2), "{cut}");
        }
        assert_eq!(parse(&format!("{}\n\u{feff}{}", line("a", BODY), line("b", BODY))).problems.len(), 1);
    }

    #[test]
    fn blanks_count_for_the_length_of_a_line() {
        let good = line("a", BODY);
        let blanks = " ".repeat(1_000);
        for long in [format!("{blanks}{good}"), format!("{good}{blanks}x"), format!(" {blanks}")] {
            for cut in [1, 1_000, 1_001, long.len()] {
                let (first, rest) = long.as_bytes().split_at(cut);
                let parsed = parser(BatchEndpoint::Chat).parsed(Some(first.into())).parsed(Some(rest.into()));
                // The end of what was too long to be kept.
                let parsed = parsed.parsed(Some(b"\n".to_vec())).parsed(None);
                let codes: Vec<&str> = parsed.problems.iter().map(|problem| problem.code.as_str()).collect();
                assert_eq!((codes, parsed.valid.len()), (vec!["payload_too_large"], 0), "{cut}");
            }
        }
    }

    #[test]
    fn problems_lines_and_embedding_inputs_are_bounded() {
        assert_eq!(parse(&"x\n".repeat(500)).problems.len(), MAX_PROBLEMS);
        let many: String = (0..1_002).map(|number| line(&number.to_string(), BODY) + "\n").collect();
        let parsed = parse(&many);
        assert_eq!((parsed.problems.len(), parsed.problems[0].code.as_str()), (1, "too_many_lines"));
        for (input, expected) in [("\"a\"", 1), ("[1,2,3]", 1), ("[\"a\",\"b\"]", 2), ("[[1],[2],[3]]", 3), ("[]", 1)] {
            assert_eq!(inputs(input), expected, "{input}");
        }
        let mut all = parser(BatchEndpoint::Embeddings);
        all.embedding_inputs = MAX_EMBEDDING_INPUTS;
        let over = line("a", r#"{"model":"acme/embedding","input":"x"}"#).replace("chat/completions", "embeddings");
        let parsed = all.parsed(Some(over.into())).parsed(None);
        assert_eq!(parsed.problems[0].code, "too_many_inputs");
    }

    #[test]
    fn the_model_is_known_if_all_lines_name_the_same() {
        let other = line("b", r#"{"model":"acme/b"}"#);
        let one = parse(&format!("{}\n{}", line("a", BODY), line("b", BODY)));
        assert!(matches!(one.models, Models::One(model) if model == "acme/a"));
        assert!(matches!(parse(&format!("{}\n{other}", line("a", BODY))).models, Models::Several));
    }
}
