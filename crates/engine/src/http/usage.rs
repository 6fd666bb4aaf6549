//! Token usage of a call: each prompt once, plus the generated tokens of all choices.

use crate::decode::Tokens;
use serde_json::{Value, json};

/// Token counts per choice so far.
#[derive(Debug, Clone)]
pub(super) struct Usage {
    choices: Vec<Tokens>,
    /// Choices of one prompt.
    per_prompt: usize,
}

impl Usage {
    pub(super) fn new(choices: usize) -> Self {
        Self::of_prompts(1, choices)
    }

    /// Several prompts with as many choices each.
    pub(super) fn of_prompts(prompts: usize, per_prompt: usize) -> Self {
        Self { choices: vec![Tokens::default(); prompts * per_prompt], per_prompt: per_prompt.max(1) }
    }

    pub(super) fn update(&mut self, choice: usize, tokens: Tokens) {
        self.choices[choice] = tokens;
    }

    /// All choices together.
    pub(super) fn json(&self) -> Value {
        sum(&self.choices, self.per_prompt, self.choices.iter().map(|tokens| tokens.generated).sum())
    }

    /// One choice alone, as in the running usage of vLLM, whose `continuous_usage_stats` this is.
    pub(super) fn json_of(&self, choice: usize) -> Value {
        let first = choice / self.per_prompt * self.per_prompt;
        let of_prompt = &self.choices[first..first + self.per_prompt];
        sum(of_prompt, self.per_prompt, self.choices[choice].generated)
    }
}

/// The prompts of these choices, and what was generated.
fn sum(choices: &[Tokens], per_prompt: usize, generated: usize) -> Value {
    let prompts = || choices.chunks(per_prompt);
    let prompt: usize = prompts().filter_map(|of_one| of_one.iter().map(|tokens| tokens.prompt).max()).sum();
    // Further choices reuse the prompt of the first one, which is not a cache hit for the caller.
    let cached: usize = prompts().filter_map(|of_one| of_one.first()).map(|tokens| tokens.cached).sum();
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": generated,
        "total_tokens": prompt + generated,
        "prompt_tokens_details": {"cached_tokens": cached},
    })
}
