//! Writes the scores of an engine in the API that the client called: sorted results, or a list.
//!
//! vLLM returns `{"results": [{"index", "relevance_score"}]}` or `{"data": [{"index", "score"}]}`, Text Embeddings Inference
//! `[{"index", "score"}]`. Scores are not changed: their digits are those of the engine.

use super::tokens::{TokenMeter, UnaryText};
use super::usage::{ReportedUsage, member_count};
use super::{BadUpstreamResponse, upstream_error};
use crate::request::{RerankOptions, ScoreForm};
use bytes::Bytes;
use json::{JsonError, Reader, ValueKind};

/// The score of one text.
struct Score<'a> {
    index: usize,
    /// As the engine wrote it.
    digits: &'a [u8],
    value: f64,
}

/// Normalizes the response of an engine to the call with this id and counts its tokens.
pub(crate) fn normalize(
    response: &Bytes,
    model: &str,
    options: &RerankOptions,
    id: &str,
    meter: &mut TokenMeter,
) -> Result<Bytes, BadUpstreamResponse> {
    let mut reader = Reader::new(response);
    let mut scores = Vec::new();
    let (mut reported, mut total) = (None, None);
    match reader.kind()? {
        ValueKind::Array => read_scores(&mut reader, options.scores, &mut scores)?,
        ValueKind::Object => reader.object(|reader, name, _| {
            match name.raw() {
                b"results" | b"data" if reader.kind()? == ValueKind::Array => {
                    read_scores(reader, options.scores, &mut scores)?;
                }
                b"usage" => {
                    let span = reader.span()?;
                    reported = ReportedUsage::read(&mut Reader::new(&response[span.clone()]))?;
                    total = member_count(&mut Reader::new(&response[span]), b"total_tokens")?;
                }
                b"error" if reader.kind()? != ValueKind::Null => {
                    let span = reader.span()?;
                    return Err(BadUpstreamResponse::Reported(upstream_error::reported(&response[span])));
                }
                _ => reader.skip()?,
            }
            Ok::<(), BadUpstreamResponse>(())
        })?,
        ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::String => {
            return Err(BadUpstreamResponse::Unexpected("the response is neither an object nor an array"));
        }
    }
    reader.end()?;
    scores.sort_by_key(|score| score.index);
    if !scores.iter().map(|score| score.index).eq(0..options.scores) {
        return Err(BadUpstreamResponse::Unexpected("the response does not have one score per text"));
    }
    let reported = reported.or_else(|| total.and_then(ReportedUsage::of_prompt));
    meter.report_unary(reported.as_ref(), None, &UnaryText::default());
    let (tokens, _) = meter.tokens();
    let text = match &options.form {
        ScoreForm::Rerank { top, documents } => {
            scores.sort_by(|left, right| right.value.total_cmp(&left.value));
            scores.truncate(*top);
            results(&scores, documents.as_deref(), model, id, tokens.prompt)
        }
        ScoreForm::Score => list(&scores, model, id, tokens.prompt),
    };
    Ok(text.into())
}

fn read_scores<'a>(
    reader: &mut Reader<'a>,
    most: usize,
    scores: &mut Vec<Score<'a>>,
) -> Result<(), BadUpstreamResponse> {
    reader.array(|reader, position| {
        if scores.len() == most {
            return Err(BadUpstreamResponse::Unexpected("the response has more scores than texts"));
        }
        let (mut index, mut digits) = (None, None);
        reader.object(|reader, name, _| {
            match name.raw() {
                b"index" => index = std::str::from_utf8(reader.number()?).ok().and_then(|text| text.parse().ok()),
                b"score" | b"relevance_score" => digits = Some(reader.number()?),
                _ => reader.skip()?,
            }
            Ok::<(), JsonError>(())
        })?;
        let value = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<f64>().ok());
        let (Some(digits), Some(value)) = (digits, value.filter(|value| value.is_finite())) else {
            return Err(BadUpstreamResponse::Unexpected("a result has no score"));
        };
        scores.push(Score { index: index.unwrap_or(position), digits, value });
        Ok(())
    })
}

/// Cohere's response, with the usage that vLLM adds.
fn results(scores: &[Score<'_>], documents: Option<&[Bytes]>, model: &str, id: &str, tokens: u64) -> Vec<u8> {
    let mut text = head("rerank", model, id);
    text.extend_from_slice(b",\"results\":[");
    for (place, score) in scores.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        text.extend_from_slice(format!("{comma}{{\"index\":{},\"relevance_score\":", score.index).as_bytes());
        text.extend_from_slice(score.digits);
        if let Some(document) = documents.and_then(|documents| documents.get(score.index)) {
            text.extend_from_slice(b",\"document\":{\"text\":");
            text.extend_from_slice(document);
            text.push(b'}');
        }
        text.push(b'}');
    }
    text.extend_from_slice(b"],\"meta\":{\"billed_units\":{\"search_units\":1}}");
    text.extend_from_slice(usage(tokens).as_bytes());
    text
}

/// vLLM's list of scores.
fn list(scores: &[Score<'_>], model: &str, id: &str, tokens: u64) -> Vec<u8> {
    let mut text = head("score", model, id);
    text.extend_from_slice(b",\"object\":\"list\",\"data\":[");
    for (place, score) in scores.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let start = format!("{comma}{{\"index\":{},\"object\":\"score\",\"score\":", score.index);
        text.extend_from_slice(start.as_bytes());
        text.extend_from_slice(score.digits);
        text.push(b'}');
    }
    text.push(b']');
    text.extend_from_slice(usage(tokens).as_bytes());
    text
}

fn head(kind: &str, model: &str, id: &str) -> Vec<u8> {
    let id = format!("{kind}-{}", id.trim_start_matches("req_"));
    [b"{\"id\":", &json::quote(&id)[..], b",\"model\":", &json::quote(model)[..]].concat()
}

fn usage(tokens: u64) -> String {
    format!(",\"usage\":{{\"prompt_tokens\":{tokens},\"total_tokens\":{tokens}}}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Operation, rerank};
    use domain::usage::Certainty;

    fn normalized(members: &str, response: &str) -> Result<(serde_json::Value, u64, Certainty), BadUpstreamResponse> {
        let body = format!(r#"{{"model":"a/b",{members}}}"#);
        let is_score = members.contains("queries");
        let parsed = if is_score { rerank::parse_score(body.into()) } else { rerank::parse(body.into()) };
        let Operation::Rerank(options) = parsed.unwrap().operation else { panic!("not a comparison") };
        let mut meter = TokenMeter::new(7);
        let response = Bytes::copy_from_slice(response.as_bytes());
        let text = normalize(&response, "a/b", &options, "req_1", &mut meter)?;
        let (tokens, certainty) = meter.tokens();
        Ok((serde_json::from_slice(&text).unwrap(), tokens.prompt, certainty))
    }

    const TWO: &str = r#""query":"q","documents":["a","b"]"#;
    const TEI: &str = r#"[{"index":1,"score":0.98765432101234567},{"index":0,"score":-1e-3}]"#;

    #[test]
    fn results_are_sorted_cut_and_have_the_digits_of_the_engine() {
        let vllm = r#"{"id":"x","model":"m","usage":{"total_tokens":21},"results":[
            {"index":0,"document":{"text":"a"},"relevance_score":-1e-3},{"index":1,"relevance_score":0.98765432101234567}]}"#;
        for (response, tokens) in [(vllm, (21, Certainty::Exact)), (TEI, (7, Certainty::Estimated))] {
            let (value, prompt, certainty) = normalized(TWO, response).unwrap();
            assert_eq!((prompt, certainty), tokens);
            assert_eq!((&value["results"][0]["index"], &value["results"][1]["index"]), (&1.into(), &0.into()));
            assert!(value["results"][0].get("document").is_none(), "{value}");
            assert_eq!(value["meta"]["billed_units"]["search_units"], 1);
            assert_eq!((&value["id"], &value["usage"]["total_tokens"]), (&"rerank-1".into(), &prompt.into()));
        }
        let (value, ..) = normalized(&format!(r#"{TWO},"top_n":1,"return_documents":true"#), TEI).unwrap();
        assert_eq!(value["results"].as_array().unwrap().len(), 1);
        assert_eq!(value["results"][0]["document"]["text"], "b");
    }

    #[test]
    fn scores_are_a_list_in_the_order_of_the_texts() {
        let (value, ..) = normalized(r#""queries":"q","documents":["a","b"]"#, TEI).unwrap();
        assert_eq!((&value["object"], &value["data"][0]["score"]), (&"list".into(), &(-1e-3).into()));
        assert_eq!((&value["data"][1]["index"], &value["data"][1]["object"]), (&1.into(), &"score".into()));
    }

    #[test]
    fn responses_without_one_score_per_text_are_rejected() {
        for bad in [
            "[]",
            "{}",
            "7",
            "<html>",
            r#"[{"index":0,"score":1}]"#,
            r#"[{"index":0,"score":1},{"index":0,"score":1}]"#,
            r#"[{"index":0,"score":1},{"index":2,"score":1}]"#,
            r#"[{"index":0},{"index":1,"score":1}]"#,
            r#"[{"index":0,"score":1},{"index":1,"score":1},{"index":2,"score":1}]"#,
            r#"{"error":{"message":"no"}}"#,
        ] {
            assert!(normalized(TWO, bad).is_err(), "{bad}");
        }
    }
}
