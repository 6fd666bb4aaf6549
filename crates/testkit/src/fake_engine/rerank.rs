//! Comparisons of texts, in the APIs of vLLM and of Text Embeddings Inference. The score of a text is its length.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::script::Script;

/// Members of a comparison in any of its APIs.
#[derive(Deserialize)]
pub(super) struct RerankCall {
    documents: Option<Value>,
    texts: Option<Vec<String>>,
    items: Option<Value>,
    data_2: Option<Value>,
    text_2: Option<Value>,
}

/// The format of a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScoreFormat {
    Results,
    List,
}

impl RerankCall {
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }

    pub(super) fn render(&self, script: &Script, format: ScoreFormat) -> Bytes {
        if let Some(raw) = &script.raw_body {
            return Bytes::from(raw.clone());
        }
        if let Some(texts) = &self.texts {
            let score = |(index, text): (usize, &String)| json!({"index": index, "score": text.len()});
            let mut scores: Vec<Value> = texts.iter().enumerate().map(score).collect();
            scores.reverse();
            return Bytes::from(json!(scores).to_string());
        }
        let members = [&self.documents, &self.items, &self.data_2, &self.text_2];
        let texts: Vec<&str> = match members.into_iter().flatten().next() {
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        let usage = json!({"total_tokens": script.prompt_tokens, "prompt_tokens": script.prompt_tokens});
        let texts = texts.iter().enumerate();
        let body = match format {
            ScoreFormat::Results => {
                let result = |(index, text): (usize, &&str)| json!({"index": index, "document": {"text": text}, "relevance_score": text.len()});
                json!({"id": "rerank-fake", "model": script.model, "usage": usage, "results": texts.map(result).collect::<Vec<_>>()})
            }
            ScoreFormat::List => {
                let score =
                    |(index, text): (usize, &&str)| json!({"index": index, "object": "score", "score": text.len()});
                json!({"id": "score-fake", "object": "list", "usage": usage, "data": texts.map(score).collect::<Vec<_>>()})
            }
        };
        Bytes::from(body.to_string())
    }
}
