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

    pub(super) fn json(&self) -> Value {
        let prompt = self.choices.iter().map(|tokens| tokens.prompt).max().unwrap_or(0);
        // Further choices reuse the prompt of the first one, which is not a cache hit for the caller.
        let cached = self.choices.first().map_or(0, |tokens| tokens.cached);
        let generated: usize = self.choices.iter().map(|tokens| tokens.generated).sum();
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": generated,
            "total_tokens": prompt + generated,
            "prompt_tokens_details": {"cached_tokens": cached},
        })
    }
}
