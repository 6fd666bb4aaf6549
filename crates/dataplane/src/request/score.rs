//! Parses requests that compare a text with others by scores, in vLLM's API.

use super::rerank::{RerankOptions, ScoreForm, check_count, estimate, read_text};
use super::written::WrittenRequest;
use super::{ModelMember, Operation, OtherMembers, ParsedRequest};
use bytes::Bytes;
use domain::capabilities::Capability;
use json::{Checks, JsonError, ParseError, Path, Reader, ValueKind, read_members, without_bom};
use std::ops::Range;

const SCORE_MEMBERS: [&str; 9] =
    ["model", "service_tier", "queries", "documents", "items", "data_1", "data_2", "text_1", "text_2"];

/// Members that belong together: one text or several, and those that they are compared with.
const SCORE_PAIRS: [(&str, &str); 4] =
    [("queries", "documents"), ("queries", "items"), ("data_1", "data_2"), ("text_1", "text_2")];

/// Texts on one side of a comparison.
struct Side {
    name: &'static str,
    value: Range<usize>,
    /// The size of each text.
    sizes: Vec<u64>,
}

/// Parses the body of `POST /v1/score`.
pub fn parse_score(body: Bytes) -> Result<ParsedRequest, ParseError> {
    let body = without_bom(body);
    let mut checks = Checks::default();
    let mut model = ModelMember::default();
    let mut sides: [Option<Side>; 2] = [None, None];
    let mut others = OtherMembers::default();
    read_members(&body, &SCORE_MEMBERS, |reader, name| {
        let checks = &mut checks;
        match SCORE_MEMBERS.into_iter().find(|known| known.as_bytes() == name) {
            Some("model") => model.read(reader, checks)?,
            Some("service_tier") => others.read_tier(reader, checks)?,
            Some(known) => {
                let side = &mut sides[usize::from(!matches!(known, "queries" | "data_1" | "text_1"))];
                let found = read_side(reader, checks, known)?;
                if side.is_some() && found.is_some() {
                    checks.invalid(&known, || "has the same meaning as a member before it".into());
                }
                *side = found.or(side.take());
            }
            None => reader.skip()?,
        }
        Ok(())
    })?;
    let (model, _) = model.take(&mut checks)?;
    let (one, compared) = match sides {
        [Some(one), Some(compared)] => (one, compared),
        [None, _] => {
            checks.missing(&"queries");
            return Err(checks.take_missing());
        }
        [Some(_), None] => {
            checks.missing(&"documents");
            return Err(checks.take_missing());
        }
    };
    if !SCORE_PAIRS.contains(&(one.name, compared.name)) {
        checks.invalid(&compared.name, || format!("does not belong to `{}`", one.name));
    }
    let count = one.sizes.len();
    if count > 1 && count != compared.sizes.len() {
        checks.invalid(&compared.name, || format!("must have {count} texts, as `{}` has", one.name));
    }
    let invalid = checks.finish()?;
    let mut written = WrittenRequest::new(&model);
    let members = [&one, &compared].map(|side| written.add(side.name, &body[side.value.clone()]));
    let (body, model_span) = written.end();
    let prompt = members[0].value.start..members[1].value.end;
    let longest = one.sizes.iter().copied().max().unwrap_or(0);
    let estimate = estimate(longest, &compared.sizes, prompt.len() as u64);
    let options = RerankOptions {
        form: ScoreForm::Score,
        scores: compared.sizes.len(),
        names: members.each_ref().map(|member| member.name.clone()),
        values: members.map(|member| member.value),
        is_pairwise: count > 1,
        limits_documents: false,
    };
    let (model, operation) = ((model, model_span), Operation::Rerank(options));
    let bare = ParsedRequest::bare(body, model, prompt, operation, estimate, (invalid, Capability::Score));
    Ok(ParsedRequest { others, ..bare })
}

/// A text or several. `None` for null, which counts as absent.
fn read_side(reader: &mut Reader<'_>, checks: &mut Checks, name: &'static str) -> Result<Option<Side>, JsonError> {
    let kind = reader.kind()?;
    let start = reader.position();
    let mut sizes = Vec::new();
    match kind {
        ValueKind::Null => {
            reader.skip()?;
            return Ok(None);
        }
        ValueKind::String => sizes.extend(read_text(reader, checks, &name)?.map(|span| span.len() as u64)),
        ValueKind::Array => reader.array(|reader, index| {
            let path = Path::Index(&name, index);
            let text = read_text(reader, checks, &path)?;
            if text.is_none() {
                checks.invalid(&path, || "must be a string, not null".into());
            }
            sizes.push(text.map_or(0, |span| span.len() as u64));
            Ok::<(), JsonError>(())
        })?,
        other @ (ValueKind::Bool | ValueKind::Number | ValueKind::Object) => {
            checks.invalid(&name, || format!("must be a text or an array of texts, not {}", other.name()));
            reader.skip()?;
        }
    }
    check_count(checks, name, sizes.len());
    Ok(Some(Side { name, value: start..reader.position(), sizes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::rerank::tests::{param, sent};
    use domain::model::RerankApi;

    #[test]
    fn scores_keep_the_names_of_the_client() {
        let score = |members: &str| parse_score(format!(r#"{{"model":"a/b",{members}}}"#).into()).unwrap();
        for (members, vllm, tei) in [
            (
                r#""queries":"q","documents":["a","b"]"#,
                r#""queries":"q","documents":["a","b"]"#,
                r#""query":"q","texts":["a","b"]"#,
            ),
            (r#""text_1" : ["q"], "text_2":"a""#, r#""text_1":["q"],"text_2":"a""#, r#""query":"q","texts":["a"]"#),
            (r#""data_2":["a"],"data_1":"q""#, r#""data_1":"q","data_2":["a"]"#, r#""query":"q","texts":["a"]"#),
            (r#""items":["a"],"queries":"q""#, r#""queries":"q","items":["a"]"#, r#""query":"q","texts":["a"]"#),
            (
                r#""priority":-1,"cache_salt":"x","queries":"q","prompt_embeds":"x","items":["a"]"#,
                r#""queries":"q","items":["a"]"#,
                r#""query":"q","texts":["a"]"#,
            ),
        ] {
            let request = score(members);
            assert_eq!(request.invalid, None, "{members}");
            assert_eq!(sent(&request, RerankApi::Vllm), format!(r#"{{"model":"m",{vllm}}}"#));
            assert_eq!(sent(&request, RerankApi::Tei), format!(r#"{{"model":"m",{tei}}}"#));
        }
        let Operation::Rerank(pairs) = score(r#""queries":["a","b"],"documents":["c","d"]"#).operation else {
            panic!("not a comparison")
        };
        assert_eq!((pairs.scores, pairs.lacking(RerankApi::Tei).unwrap().param.as_str()), (2, "queries"));
    }

    #[test]
    fn errors_name_the_member() {
        let score = |members: &str| param(parse_score(format!(r#"{{"model":"a/b",{members}}}"#).into()));
        for (members, expected) in [
            (r#""documents":["a"]"#, "missing queries"),
            (r#""queries":"q""#, "missing documents"),
            (r#""queries":"q","text_1":"r","documents":"a""#, "text_1"),
            (r#""queries":["q","r"],"documents":["a"]"#, "documents"),
            (r#""queries":"q","documents":[1]"#, "documents[0]"),
            (r#""queries":"q","documents":[null]"#, "documents[0]"),
            (r#""text_1":"q","documents":["a"]"#, "documents"),
            (r#""queries":"q","text_2":"a""#, "text_2"),
            (r#""service_tier":"auto","queries":"q","items":"a""#, "fine"),
            (r#""service_tier":"gold","queries":"q","items":"a""#, "service_tier"),
            (r#""Service_Tier":"flex","queries":"q","items":"a""#, "bad name Service_Tier"),
        ] {
            assert_eq!(score(members), expected, "{members}");
        }
    }
}
