//! Token usage of a call: the prompt once, plus the generated tokens of all choices.

use crate::decode::Tokens;
use serde_json::{Value, json};

/// Token counts per choice so far.
#[derive(Debug, Clone)]
pub(super) struct Usage {
    choices: Vec<Tokens>,
}

impl Usage {
    pub(super) fn new(choices: usize) -> Self {
        Self { choices: vec![Tokens::default(); choices] }
    }

    pub(super) fn update(&mut self, choice: usize, tokens: Tokens) {
        self.choices[choice] = tokens;
    }

    /// All choices together.
    pub(super) fn json(&self) -> Value {
        self.with_generated(self.choices.iter().map(|tokens| tokens.generated).sum())
    }

    /// One choice alone, as in the running usage of vLLM, whose `continuous_usage_stats` this is.
    pub(super) fn json_of(&self, choice: usize) -> Value {
        self.with_generated(self.choices[choice].generated)
    }

    fn with_generated(&self, generated: usize) -> Value {
        let prompt = self.choices.iter().map(|tokens| tokens.prompt).max().unwrap_or(0);
        // Further choices reuse the prompt of the first one, which is not a cache hit for the caller.
        let cached = self.choices.first().map_or(0, |tokens| tokens.cached);
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": generated,
            "total_tokens": prompt + generated,
            "prompt_tokens_details": {"cached_tokens": cached},
        })
    }
}
