//! Parses requests that compare a text with others: rerank in Cohere's API here, scores in vLLM's in `score`.
//!
//! Requests are rewritten in vLLM's format, so that engines get no member that is not checked. Documents become texts, because
//! they may be objects. A score request keeps the names that the client chose among vLLM's four.

pub use super::score::parse_score;

use super::estimate::least_tokens;
use super::prompts::MAX_PROMPTS;
use super::written::WrittenRequest;
use super::{ModelMember, Operation, OtherMembers, ParsedRequest, TokenEstimate};
use bytes::Bytes;
use domain::capabilities::Capability;
use domain::model::RerankApi;
use json::edits::Edits;
use json::{Checks, InvalidParam, JsonError, ParseError, Path, Reader, ValueKind, read_members, without_bom};
use std::ops::Range;

/// The most fields of an object that are compared.
const MAX_FIELDS: usize = 16;
/// A string without text.
const EMPTY: &str = "\"\"";

/// How texts are compared, and what the response has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RerankOptions {
    pub(crate) form: ScoreForm,
    /// The number of scores that the engine returns.
    pub(crate) scores: usize,
    /// The names of the members with the one text and the others, in the body for the engine, and their values.
    pub(super) names: [Range<usize>; 2],
    pub(super) values: [Range<usize>; 2],
    /// Both sides have several texts, which are compared in pairs.
    pub(super) is_pairwise: bool,
    pub(super) limits_documents: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScoreForm {
    Rerank {
        /// The most results.
        top: usize,
        /// The documents as JSON, if the response repeats them.
        documents: Option<Vec<Bytes>>,
    },
    Score,
}

impl RerankOptions {
    /// The member that the API of the engine does not have.
    pub(crate) fn lacking(&self, api: RerankApi) -> Option<InvalidParam> {
        let (param, why) = match api {
            RerankApi::Vllm => return None,
            RerankApi::Tei if self.is_pairwise => ("queries", "must be one text at the engine of this model"),
            RerankApi::Tei if self.limits_documents => {
                ("max_tokens_per_doc", "is not supported by the engine of this model")
            }
            RerankApi::Tei => return None,
        };
        Some(InvalidParam { param: param.into(), why: why.into() })
    }

    /// The most bytes of documents that the response repeats.
    pub(super) fn echo_bytes(&self) -> usize {
        match &self.form {
            ScoreForm::Rerank { top, documents: Some(documents) } => {
                let longest = documents.iter().map(Bytes::len).max().unwrap_or(0);
                let all: usize = documents.iter().map(Bytes::len).sum();
                all.min(longest.saturating_mul(*top))
            }
            ScoreForm::Rerank { documents: None, .. } | ScoreForm::Score => 0,
        }
    }

    /// Names the members as the engine does.
    pub(super) fn translate(&self, api: RerankApi, body: &[u8], edits: &mut Edits<'_>) {
        match api {
            RerankApi::Vllm => {}
            RerankApi::Tei => {
                let [one, others] = &self.names;
                edits.replace(one.clone(), &b"\"query\""[..]);
                edits.replace(others.clone(), &b"\"texts\""[..]);
                let [one, others] = &self.values;
                if body[one.clone()].starts_with(b"[") {
                    edits.replace(one.start..one.start + 1, &b""[..]);
                    edits.replace(one.end - 1..one.end, &b""[..]);
                }
                if body[others.clone()].starts_with(b"\"") {
                    edits.insert(others.start, &b"["[..]);
                    edits.insert(others.end, &b"]"[..]);
                }
            }
        }
    }
}

/// Parses the body of `POST /v1/rerank`.
pub fn parse(body: Bytes) -> Result<ParsedRequest, ParseError> {
    parse_rerank(body, true)
}

/// Parses the body of `POST /v2/rerank`, whose response never repeats documents.
pub fn parse_v2(body: Bytes) -> Result<ParsedRequest, ParseError> {
    parse_rerank(body, false)
}

const RERANK_MEMBERS: [&str; 8] =
    ["model", "query", "documents", "top_n", "max_tokens_per_doc", "return_documents", "rank_fields", "service_tier"];

fn parse_rerank(body: Bytes, may_repeat: bool) -> Result<ParsedRequest, ParseError> {
    let body = without_bom(body);
    let mut checks = Checks::default();
    let mut model = ModelMember::default();
    let (mut query, mut documents, mut fields) = (None, None, Vec::new());
    let (mut top, mut limit, mut repeats) = (0, None, false);
    let mut others = OtherMembers::default();
    read_members(&body, &RERANK_MEMBERS, |reader, name| {
        let checks = &mut checks;
        match name {
            b"model" => model.read(reader, checks)?,
            b"query" => query = read_text(reader, checks, &"query")?,
            b"documents" => {
                reader.kind()?;
                let start = reader.position();
                reader.skip()?;
                documents = Some(start..reader.position()).filter(|span| body[span.clone()] != *b"null");
            }
            b"top_n" => top = checks.integer(reader, &"top_n", 0..=i64::MAX)?.unwrap_or(0).unsigned_abs(),
            b"max_tokens_per_doc" => limit = checks.integer(reader, &"max_tokens_per_doc", 1..=i64::MAX)?,
            b"return_documents" => repeats = checks.boolean(reader, &"return_documents")?.unwrap_or(false),
            b"rank_fields" => fields = read_fields(reader, checks)?,
            b"service_tier" => others.read_tier(reader, checks)?,
            // Unknown members do not reach the engine.
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let (model, _) = model.take(&mut checks)?;
    if query.is_none() {
        checks.missing(&"query");
    }
    let texts = match documents {
        Some(span) => read_documents(&body[span], &fields, &mut checks)?,
        None => {
            checks.missing(&"documents");
            Vec::new()
        }
    };
    let invalid = checks.finish()?;
    let query = &body[query.unwrap_or(0..0)];
    let mut written = WrittenRequest::new(&model);
    let query_member = written.add("query", query);
    let array = [b"[", &texts.join(&b","[..])[..], b"]"].concat();
    let documents_member = written.add("documents", &array);
    if let Some(limit) = limit {
        written.add("max_tokens_per_doc", limit.to_string().as_bytes());
    }
    let (body, model_span) = written.end();
    let sizes: Vec<u64> = texts.iter().map(|text| text.len() as u64).collect();
    let top = match usize::try_from(top).unwrap_or(usize::MAX) {
        0 => usize::MAX,
        top => top,
    };
    let documents = (may_repeat && repeats).then(|| elements(&body, documents_member.value.start, &sizes));
    let prompt = query_member.value.start..documents_member.value.end;
    let estimate = estimate(query.len() as u64, &sizes, prompt.len() as u64);
    let options = RerankOptions {
        form: ScoreForm::Rerank { top, documents },
        scores: texts.len(),
        names: [query_member.name, documents_member.name],
        values: [query_member.value, documents_member.value],
        is_pairwise: false,
        limits_documents: limit.is_some(),
    };
    let (model, operation) = ((model, model_span), Operation::Rerank(options));
    let bare = ParsedRequest::bare(body, model, prompt, operation, estimate, (invalid, Capability::Rerank));
    Ok(ParsedRequest { others, ..bare })
}

/// The elements of an array without blanks that begins at `start`, of these sizes.
fn elements(body: &Bytes, start: usize, sizes: &[u64]) -> Vec<Bytes> {
    let mut end = start;
    let element = |size: &u64| {
        // After a bracket or a comma.
        let start = end + 1;
        end = start + usize::try_from(*size).expect("a text in memory has no more bytes than fit");
        body.slice(start..end)
    };
    sizes.iter().map(element).collect()
}

/// The range of a text, with its quotes.
pub(super) fn read_text(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    path: &dyn std::fmt::Display,
) -> Result<Option<Range<usize>>, JsonError> {
    match reader.kind()? {
        ValueKind::String => {
            let span = reader.span()?;
            if span.len() <= EMPTY.len() {
                checks.invalid(path, || "must not be empty".into());
            }
            Ok(Some(span))
        }
        ValueKind::Null => reader.skip().map(|()| None),
        other @ (ValueKind::Bool | ValueKind::Number | ValueKind::Array | ValueKind::Object) => {
            checks.invalid(path, || format!("must be a string, not {}", other.name()));
            reader.skip().map(|()| Some(0..0))
        }
    }
}

pub(super) fn check_count(checks: &mut Checks, name: &'static str, count: usize) {
    if !(1..=MAX_PROMPTS).contains(&count) {
        checks.invalid(&name, || format!("must have 1 to {MAX_PROMPTS} texts, not {count}"));
    }
}

/// The names of fields that are compared.
fn read_fields(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<Vec<Vec<u8>>, JsonError> {
    let mut fields = Vec::new();
    if !checks.is(reader, &"rank_fields", ValueKind::Array)? {
        return Ok(fields);
    }
    reader.array(|reader, index| {
        let path = Path::Index(&"rank_fields", index);
        if let Some(text) = checks.text(reader, &path)? {
            fields.push(text.decoded().into_owned());
        }
        Ok::<(), JsonError>(())
    })?;
    if fields.len() > MAX_FIELDS {
        checks.invalid(&"rank_fields", || format!("must have at most {MAX_FIELDS} names"));
        fields.clear();
    }
    Ok(fields)
}

/// The documents as texts in JSON.
fn read_documents(value: &[u8], fields: &[Vec<u8>], checks: &mut Checks) -> Result<Vec<Vec<u8>>, JsonError> {
    let mut reader = Reader::again(value);
    let mut texts = Vec::new();
    if !checks.is(&mut reader, &"documents", ValueKind::Array)? {
        return Ok(texts);
    }
    reader.array(|reader, index| {
        let path = Path::Index(&"documents", index);
        let text = match reader.kind()? {
            ValueKind::Object => read_object(reader, value, fields)?,
            _ => read_text(reader, checks, &path)?.map(|span| value[span].to_vec()),
        };
        if text.as_ref().is_none_or(|text| text.len() <= EMPTY.len()) {
            checks.invalid(&path, || "must be a text, or an object with a `text` or one of `rank_fields`".into());
        }
        // More are rejected, and need no memory.
        if texts.len() <= MAX_PROMPTS {
            texts.push(text.unwrap_or_default());
        }
        Ok::<(), JsonError>(())
    })?;
    check_count(checks, "documents", texts.len());
    Ok(texts)
}

/// The text of a document: its fields in the order in which they are named, or its `text`.
fn read_object(reader: &mut Reader<'_>, value: &[u8], fields: &[Vec<u8>]) -> Result<Option<Vec<u8>>, JsonError> {
    let mut found: Vec<Option<Range<usize>>> = vec![None; fields.len().max(1)];
    reader.object(|reader, name, _| {
        let name = name.decoded();
        let place = if fields.is_empty() {
            (*name == *b"text").then_some(0)
        } else {
            fields.iter().position(|field| **field == *name)
        };
        let is_text = reader.kind()? == ValueKind::String;
        let span = reader.span()?;
        if let Some(place) = place.filter(|_| is_text) {
            found[place] = Some(span);
        }
        Ok::<(), JsonError>(())
    })?;
    let texts: Vec<&[u8]> = found.into_iter().flatten().map(|span| &value[span.start + 1..span.end - 1]).collect();
    Ok((!texts.is_empty()).then(|| [b"\"", &texts.join(&b"\\n"[..])[..], b"\""].concat()))
}

/// Each text is read together with the one that it is compared with, which the body has only once.
pub(super) fn estimate(one: u64, others: &[u64], prompt: u64) -> TokenEstimate {
    let bytes = others.iter().sum::<u64>().saturating_add(one.saturating_mul(others.len() as u64));
    let mut estimate = TokenEstimate::embeddings(bytes, others.len(), least_tokens(one));
    estimate.native_only = bytes.saturating_sub(prompt);
    estimate
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::request) fn sent(request: &ParsedRequest, api: RerankApi) -> String {
        let mut edits = request.upstream_edits("m", false, None);
        let Operation::Rerank(options) = &request.operation else { panic!("not a comparison") };
        options.translate(api, &request.body, &mut edits);
        String::from_utf8(edits.apply(&request.body).to_vec()).unwrap()
    }

    pub(in crate::request) fn param(parsed: Result<ParsedRequest, ParseError>) -> String {
        match parsed {
            Ok(request) => request.invalid.map_or_else(|| "fine".into(), |invalid| invalid.param),
            Err(ParseError::Missing { param }) => format!("missing {param}"),
            Err(ParseError::BadName { param, .. }) => format!("bad name {param}"),
            Err(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn documents_become_texts_for_every_engine() {
        let body = r#"{"documents":["a",{"text":"b\n","x":1}],"top_n":1,"priority":5,"query":"q","model":"a/b"}"#;
        let request = parse(body.into()).unwrap();
        assert_eq!(sent(&request, RerankApi::Vllm), r#"{"model":"m","query":"q","documents":["a","b\n"]}"#);
        assert_eq!(sent(&request, RerankApi::Tei), r#"{"model":"m","query":"q","texts":["a","b\n"]}"#);
        assert_eq!(request.prompt(), br#""q","documents":["a","b\n"]"#);
        let body = r#"{"model":"a/b","query":"q","rank_fields":["title","body"],"max_tokens_per_doc":9,
            "documents":[{"body":"b","title":"t","x":"x"}]}"#;
        let request = parse(body.into()).unwrap();
        let expected = r#"{"model":"m","query":"q","documents":["t\nb"],"max_tokens_per_doc":9}"#;
        assert_eq!(sent(&request, RerankApi::Vllm), expected);
        let Operation::Rerank(options) = request.operation else { panic!("not a comparison") };
        assert_eq!(options.lacking(RerankApi::Tei).unwrap().param, "max_tokens_per_doc");
    }

    #[test]
    fn what_the_response_repeats_is_known_before_it_arrives() {
        let echo = |members: &str| {
            let body = format!(r#"{{"model":"a/b","query":"q","documents":["abc","d",{{"text":"e"}}]{members}}}"#);
            parse(body.into()).unwrap().operation.echo_bytes()
        };
        assert_eq!(echo(""), 0);
        assert_eq!(echo(r#","return_documents":true"#), 5 + 3 + 3);
        assert_eq!(echo(r#","return_documents":true,"top_n":1"#), 5, "one of them, at most the longest");
    }

    #[test]
    fn errors_name_the_member() {
        let rerank = |members: &str| param(parse(format!(r#"{{"model":"a/b",{members}}}"#).into()));
        for (members, expected) in [
            (r#""query":"q","documents":["a"],"top_n":0"#, "fine"),
            (r#""documents":["a"]"#, "missing query"),
            (r#""query":"q","documents":null"#, "missing documents"),
            (r#""query":"","documents":["a"]"#, "query"),
            (r#""query":"q","documents":[]"#, "documents"),
            (r#""query":"q","documents":"a""#, "documents"),
            (r#""query":"q","documents":["a",{"title":"b"}]"#, "documents[1]"),
            (r#""query":"q","documents":["a",1]"#, "documents[1]"),
            (r#""query":"q","documents":["a"],"top_n":-1"#, "top_n"),
            (r#""query":"q","documents":["a"],"service_tier":"auto""#, "fine"),
            (r#""query":"q","documents":["a"],"service_tier":"gold""#, "service_tier"),
            (r#""query":"q","documents":["a"],"Service_Tier":"flex""#, "bad name Service_Tier"),
        ] {
            assert_eq!(rerank(members), expected, "{members}");
        }
    }

    #[test]
    fn every_pair_is_bounded() {
        let request = parse(r#"{"model":"a/b","query":"12345678","documents":["a","b"]}"#.into()).unwrap();
        let bound = request.estimate.bound(512);
        assert_eq!((bound.prompt, bound.completion), (2 * (10 + 3 + 64), 0));
        let long = "x".repeat(300_000);
        let request = parse(format!(r#"{{"model":"a/b","query":"{long}","documents":["a"]}}"#).into()).unwrap();
        assert_eq!(request.overflow(512).unwrap().param, "query");
    }
}
