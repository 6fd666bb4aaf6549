//! How the next token is chosen: from what the caller asked to llama.cpp's chain of samplers.

use crate::constraint::Constraint;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::logit_bias::LlamaLogitBias;

/// As in llama.cpp: without it, small models ramble on at the temperature that the OpenAI interface has by default.
const MIN_P: f32 = 0.05;

/// What the caller asked for; the defaults are those of the OpenAI interface, but for `min_p`, which it does not have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sampling {
    pub temperature: f32,
    pub top_p: f32,
    /// 0: all.
    pub top_k: i32,
    pub min_p: f32,
    pub presence_penalty: f32,
    pub frequency_penalty: f32,
    pub repetition_penalty: f32,
    pub logit_bias: Vec<(i32, f32)>,
    pub seed: Option<i64>,
    /// The model may not end by itself.
    pub ignore_eos: bool,
    /// The model may not end before it has written this many tokens.
    pub min_tokens: usize,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: MIN_P,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repetition_penalty: 1.0,
            logit_bias: Vec::new(),
            seed: None,
            ignore_eos: false,
            min_tokens: 0,
        }
    }
}

/// Chooses the tokens of one answer, and remembers what it chose.
pub(crate) struct Sampler {
    way: Way,
    /// Tokens that must still come before the model may end.
    before_end: usize,
    /// The tokens that end an answer; known only where they are forbidden for a while.
    ends: Vec<LlamaToken>,
}

enum Way {
    /// The likeliest token, without a copy of the vocabulary as long as none of the biased ones is in play.
    Likeliest {
        biases: Vec<(LlamaToken, f32)>,
    },
    Chain(LlamaSampler),
}

impl Sampler {
    /// The sampler of choice `index` of a call; `prompt` counts for the repetition penalty only.
    pub(crate) fn new(
        asked: &Sampling,
        model: &LlamaModel,
        prompt: &[LlamaToken],
        constraint: Option<&Constraint>,
        index: usize,
    ) -> Self {
        let greedy = asked.temperature <= 0.0;
        let biases = biases(asked, model);
        let mut chain = Vec::new();
        chain.extend(constraint.map(Constraint::sampler));
        chain.extend(penalties(asked, model, prompt));
        let before_end = asked.min_tokens;
        let ends = if before_end > 0 { ends(model) } else { Vec::new() };
        if greedy && chain.is_empty() && before_end == 0 {
            return Self { way: Way::Likeliest { biases }, before_end, ends };
        }
        if !biases.is_empty() {
            let biases: Vec<_> = biases.iter().map(|(token, bias)| LlamaLogitBias::new(*token, *bias)).collect();
            chain.insert(0, LlamaSampler::logit_bias(model.n_vocab(), &biases));
        }
        if greedy {
            chain.push(LlamaSampler::greedy());
        } else {
            chain.extend(narrowing(asked));
            chain.push(LlamaSampler::dist(seed_of(asked.seed, index)));
        }
        Self { way: Way::Chain(LlamaSampler::chain_simple(chain)), before_end, ends }
    }

    /// The next token, from the logits at `row` of the last batch.
    pub(crate) fn choose(&mut self, context: &LlamaContext<'_>, row: i32) -> LlamaToken {
        match &mut self.way {
            Way::Likeliest { biases } => likeliest_with(biases, context.get_logits_ith(row)),
            Way::Chain(chain) if self.before_end == 0 => chain.sample(context, row),
            Way::Chain(chain) => {
                self.before_end -= 1;
                sample_without(&self.ends, chain, context, row)
            }
        }
    }
}

/// What the chain chooses when these tokens cannot be had.
fn sample_without(
    forbidden: &[LlamaToken],
    chain: &mut LlamaSampler,
    context: &LlamaContext<'_>,
    row: i32,
) -> LlamaToken {
    let mut candidates = context.token_data_array_ith(row);
    for candidate in &mut candidates.data {
        if forbidden.contains(&candidate.id()) {
            candidate.set_logit(f32::NEG_INFINITY);
        }
    }
    candidates.apply_sampler(chain);
    let token = candidates.selected_token().unwrap_or_else(|| likeliest(context.get_logits_ith(row)));
    chain.accept(token);
    token
}

/// The tokens with which the model ends an answer.
fn ends(model: &LlamaModel) -> Vec<LlamaToken> {
    let vocabulary = model.vocab();
    vocabulary.tokens().filter(|token| vocabulary.is_eog(*token)).collect()
}

fn biases(asked: &Sampling, model: &LlamaModel) -> Vec<(LlamaToken, f32)> {
    let asked_for = asked.logit_bias.iter().map(|(token, bias)| (LlamaToken(*token), *bias));
    let ends = if asked.ignore_eos { ends(model) } else { Vec::new() };
    asked_for.chain(ends.into_iter().map(|token| (token, f32::NEG_INFINITY))).collect()
}

fn penalties(asked: &Sampling, model: &LlamaModel, prompt: &[LlamaToken]) -> Vec<LlamaSampler> {
    let window = i32::try_from(model.n_ctx_train()).unwrap_or(i32::MAX);
    let penalties =
        |repeat, frequency, presence| LlamaSampler::penalties(model.n_vocab(), window, repeat, frequency, presence);
    let mut samplers = Vec::new();
    if (asked.repetition_penalty - 1.0).abs() > f32::EPSILON {
        samplers.push(penalties(asked.repetition_penalty, 0.0, 0.0).with_tokens(prompt));
    }
    if asked.presence_penalty != 0.0 || asked.frequency_penalty != 0.0 {
        samplers.push(penalties(1.0, asked.frequency_penalty, asked.presence_penalty));
    }
    samplers
}

/// What makes the choice smaller, in the order that vLLM takes too.
fn narrowing(asked: &Sampling) -> Vec<LlamaSampler> {
    let mut samplers = vec![LlamaSampler::temp(asked.temperature)];
    if asked.top_k > 0 {
        samplers.push(LlamaSampler::top_k(asked.top_k));
    }
    if asked.top_p < 1.0 {
        samplers.push(LlamaSampler::top_p(asked.top_p, 1));
    }
    if asked.min_p > 0.0 {
        samplers.push(LlamaSampler::min_p(asked.min_p, 1));
    }
    samplers
}

/// llama.cpp has 32 bits, and takes the largest number for "any seed".
fn seed_of(asked: Option<i64>, index: usize) -> u32 {
    let seed = asked.unwrap_or_else(|| fastrand::i64(..)).wrapping_add_unsigned(index as u64);
    let folded = (seed as u64 ^ (seed as u64 >> 32)) as u32;
    folded.min(u32::MAX - 1)
}

/// The likeliest token after the biases are added.
fn likeliest_with(biases: &[(LlamaToken, f32)], logits: &[f32]) -> LlamaToken {
    let token = likeliest(logits);
    // Lowering others changes nothing; that is the common case, such as an end that may not come.
    if biases.iter().all(|(biased, bias)| *bias <= 0.0 && *biased != token) {
        return token;
    }
    let mut changed = logits.to_vec();
    for (biased, bias) in biases {
        if let Some(logit) = usize::try_from(biased.0).ok().and_then(|at| changed.get_mut(at)) {
            *logit += bias;
        }
    }
    likeliest(&changed)
}

/// The first of the tokens with the highest logit. One token of every step waits for this on one core while the others
/// have nothing to do, so it looks at many at once: a plain fold would compare one after the other.
fn likeliest(logits: &[f32]) -> LlamaToken {
    const LANES: usize = 32;
    let mut highest = [f32::NEG_INFINITY; LANES];
    let (groups, rest) = logits.as_chunks::<LANES>();
    for group in groups {
        for (highest, logit) in highest.iter_mut().zip(group) {
            *highest = if *logit > *highest { *logit } else { *highest };
        }
    }
    let highest = highest.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max);
    let group = groups.iter().position(|group| group.iter().any(|logit| *logit >= highest)).unwrap_or(groups.len());
    let from = group * LANES;
    let at = logits[from..].iter().position(|logit| *logit >= highest).map_or(0, |at| from + at);
    LlamaToken(i32::try_from(at).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{likeliest, likeliest_with, seed_of};
    use llama_cpp_2::token::LlamaToken;

    #[test]
    fn the_first_of_the_highest_is_the_likeliest() {
        assert_eq!(likeliest(&[0.0, 3.0, -1.0, 3.0]), LlamaToken(1));
        assert_eq!(likeliest(&[f32::NAN, -2.0]), LlamaToken(1));
        assert_eq!(likeliest(&[f32::NEG_INFINITY; 40]), LlamaToken(0));
        let mut long = vec![-1.0; 100];
        for highest in [99, 95, 64, 40, 0] {
            long[highest] = 7.0;
            assert_eq!(likeliest(&long), LlamaToken(highest as i32));
        }
    }

    #[test]
    fn biases_raise_and_lower_what_is_likeliest() {
        let logits = [0.0, 3.0, 2.0];
        assert_eq!(likeliest_with(&[(LlamaToken(0), -5.0)], &logits), LlamaToken(1));
        assert_eq!(likeliest_with(&[(LlamaToken(1), f32::NEG_INFINITY)], &logits), LlamaToken(2));
        assert_eq!(likeliest_with(&[(LlamaToken(0), 100.0), (LlamaToken(77), 9.0)], &logits), LlamaToken(0));
    }

    #[test]
    fn seeds_differ_by_choice_and_are_never_the_word_for_any() {
        assert_eq!(seed_of(Some(7), 0), seed_of(Some(7), 0));
        assert_ne!(seed_of(Some(7), 0), seed_of(Some(7), 1));
        assert_ne!(seed_of(Some(i64::from(u32::MAX)), 0), u32::MAX);
    }
}
