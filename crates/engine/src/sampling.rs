//! Token sampling: converts the caller's settings into a llama.cpp sampler chain.

use crate::model::constraint::Constraint;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::logit_bias::LlamaLogitBias;

/// llama.cpp's default. Without it, small models ramble at OpenAI's default temperature.
const MIN_P: f32 = 0.05;

/// Sampling settings of a call. Defaults are those of the OpenAI API, except `min_p`, which it does not have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sampling {
    pub temperature: f32,
    pub top_p: f32,
    /// 0 disables it.
    pub top_k: i32,
    pub min_p: f32,
    pub presence_penalty: f32,
    pub frequency_penalty: f32,
    pub repetition_penalty: f32,
    pub logit_bias: Vec<(i32, f32)>,
    pub seed: Option<i64>,
    /// Forbids end-of-generation tokens.
    pub ignore_eos: bool,
    /// Forbids end-of-generation tokens before this many tokens.
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

/// Stateful sampler of one completion.
pub(crate) struct Sampler {
    strategy: Strategy,
    /// Tokens left until the model may end.
    before_end: usize,
    /// End-of-generation tokens; empty unless `min_tokens` is set.
    ends: Vec<LlamaToken>,
}

enum Strategy {
    /// The most likely token. Copies the logits only if a bias can change the result.
    Greedy {
        biases: Vec<(LlamaToken, f32)>,
    },
    Chain(LlamaSampler),
}

impl Sampler {
    /// Sampler of choice `index` of a call; `prompt` is only used for the repetition penalty.
    pub(crate) fn new(
        settings: &Sampling,
        model: &LlamaModel,
        prompt: &[LlamaToken],
        constraint: Option<&Constraint>,
        index: usize,
    ) -> Self {
        let greedy = settings.temperature <= 0.0;
        let biases = biases(settings, model);
        let mut chain = Vec::new();
        chain.extend(constraint.map(Constraint::sampler));
        chain.extend(penalties(settings, model, prompt));
        let before_end = settings.min_tokens;
        let ends = if before_end > 0 { ends(model) } else { Vec::new() };
        if greedy && chain.is_empty() && before_end == 0 {
            return Self { strategy: Strategy::Greedy { biases }, before_end, ends };
        }
        if !biases.is_empty() {
            let biases: Vec<_> = biases.iter().map(|(token, bias)| LlamaLogitBias::new(*token, *bias)).collect();
            chain.insert(0, LlamaSampler::logit_bias(model.n_vocab(), &biases));
        }
        if greedy {
            chain.push(LlamaSampler::greedy());
        } else {
            chain.extend(filters(settings));
            chain.push(LlamaSampler::dist(seed_of(settings.seed, index)));
        }
        Self { strategy: Strategy::Chain(LlamaSampler::chain_simple(chain)), before_end, ends }
    }

    /// Samples the next token from the logits at `row` of the last batch.
    pub(crate) fn sample(&mut self, context: &LlamaContext<'_>, row: i32) -> LlamaToken {
        match &mut self.strategy {
            Strategy::Greedy { biases } => biased_argmax(biases, context.get_logits_ith(row)),
            Strategy::Chain(chain) if self.before_end == 0 => chain.sample(context, row),
            Strategy::Chain(chain) => {
                self.before_end -= 1;
                sample_without(&self.ends, chain, context, row)
            }
        }
    }
}

/// Samples from the chain with some tokens forbidden.
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
    let token = candidates.selected_token().unwrap_or_else(|| argmax(context.get_logits_ith(row)));
    chain.accept(token);
    token
}

/// End-of-generation tokens of the model.
fn ends(model: &LlamaModel) -> Vec<LlamaToken> {
    let vocabulary = model.vocab();
    vocabulary.tokens().filter(|token| vocabulary.is_eog(*token)).collect()
}

fn biases(settings: &Sampling, model: &LlamaModel) -> Vec<(LlamaToken, f32)> {
    let requested = settings.logit_bias.iter().map(|(token, bias)| (LlamaToken(*token), *bias));
    let ends = if settings.ignore_eos { ends(model) } else { Vec::new() };
    requested.chain(ends.into_iter().map(|token| (token, f32::NEG_INFINITY))).collect()
}

fn penalties(settings: &Sampling, model: &LlamaModel, prompt: &[LlamaToken]) -> Vec<LlamaSampler> {
    let window = i32::try_from(model.n_ctx_train()).unwrap_or(i32::MAX);
    let penalties =
        |repeat, frequency, presence| LlamaSampler::penalties(model.n_vocab(), window, repeat, frequency, presence);
    let mut samplers = Vec::new();
    if (settings.repetition_penalty - 1.0).abs() > f32::EPSILON {
        samplers.push(penalties(settings.repetition_penalty, 0.0, 0.0).with_tokens(prompt));
    }
    if settings.presence_penalty != 0.0 || settings.frequency_penalty != 0.0 {
        samplers.push(penalties(1.0, settings.frequency_penalty, settings.presence_penalty));
    }
    samplers
}

/// Temperature and filters, in the same order as vLLM.
fn filters(settings: &Sampling) -> Vec<LlamaSampler> {
    let mut samplers = vec![LlamaSampler::temp(settings.temperature)];
    if settings.top_k > 0 {
        samplers.push(LlamaSampler::top_k(settings.top_k));
    }
    if settings.top_p < 1.0 {
        samplers.push(LlamaSampler::top_p(settings.top_p, 1));
    }
    if settings.min_p > 0.0 {
        samplers.push(LlamaSampler::min_p(settings.min_p, 1));
    }
    samplers
}

/// Folds a seed to 32 bits. llama.cpp reserves the largest value for "random seed".
fn seed_of(seed: Option<i64>, index: usize) -> u32 {
    let seed = seed.unwrap_or_else(|| fastrand::i64(..)).wrapping_add_unsigned(index as u64);
    let folded = (seed as u64 ^ (seed as u64 >> 32)) as u32;
    folded.min(u32::MAX - 1)
}

/// The most likely token after adding the biases.
fn biased_argmax(biases: &[(LlamaToken, f32)], logits: &[f32]) -> LlamaToken {
    let token = argmax(logits);
    // Lowering other tokens does not change the result. This is the common case, such as a forbidden end token.
    if biases.iter().all(|(biased, bias)| *bias <= 0.0 && *biased != token) {
        return token;
    }
    let mut changed = logits.to_vec();
    for (biased, bias) in biases {
        if let Some(logit) = usize::try_from(biased.0).ok().and_then(|at| changed.get_mut(at)) {
            *logit += bias;
        }
    }
    argmax(&changed)
}

/// The first token with the highest logit.
///
/// Runs on one core at every step while the other cores are idle, so it is vectorized: 32 lanes keep a maximum each, and
/// the position is found in a second pass over the group that contains the overall maximum.
fn argmax(logits: &[f32]) -> LlamaToken {
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
    use super::{argmax, biased_argmax, seed_of};
    use llama_cpp_2::token::LlamaToken;

    #[test]
    fn argmax_returns_the_first_maximum() {
        assert_eq!(argmax(&[0.0, 3.0, -1.0, 3.0]), LlamaToken(1));
        assert_eq!(argmax(&[f32::NAN, -2.0]), LlamaToken(1));
        assert_eq!(argmax(&[f32::NEG_INFINITY; 40]), LlamaToken(0));
        let mut long = vec![-1.0; 100];
        for highest in [99, 95, 64, 40, 0] {
            long[highest] = 7.0;
            assert_eq!(argmax(&long), LlamaToken(highest as i32));
        }
    }

    #[test]
    fn biases_change_the_argmax() {
        let logits = [0.0, 3.0, 2.0];
        assert_eq!(biased_argmax(&[(LlamaToken(0), -5.0)], &logits), LlamaToken(1));
        assert_eq!(biased_argmax(&[(LlamaToken(1), f32::NEG_INFINITY)], &logits), LlamaToken(2));
        assert_eq!(biased_argmax(&[(LlamaToken(0), 100.0), (LlamaToken(77), 9.0)], &logits), LlamaToken(0));
    }

    #[test]
    fn seeds_differ_by_choice_and_are_never_the_reserved_value() {
        assert_eq!(seed_of(Some(7), 0), seed_of(Some(7), 0));
        assert_ne!(seed_of(Some(7), 0), seed_of(Some(7), 1));
        assert_ne!(seed_of(Some(i64::from(u32::MAX)), 0), u32::MAX);
    }
}
