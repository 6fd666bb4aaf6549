//! Log probabilities of tokens, as computed by the model before any sampling setting.

use llama_cpp_2::token::LlamaToken;

/// A token and the logarithm of its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TokenLogprob {
    pub token: LlamaToken,
    pub logprob: f32,
}

/// The sampled token and the most likely ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Logprob {
    pub chosen: TokenLogprob,
    pub top: Vec<TokenLogprob>,
}

/// Log-softmax of the logits at the sampled token and at the `count` highest.
pub(super) fn logprob(logits: &[f32], chosen: LlamaToken, count: usize) -> Logprob {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - highest).exp()).sum();
    let log_sum = f64::from(highest) + sum.ln();
    let token_logprob = |token: LlamaToken| {
        let logit = usize::try_from(token.0).ok().and_then(|at| logits.get(at)).copied().unwrap_or(f32::NEG_INFINITY);
        TokenLogprob { token, logprob: (f64::from(logit) - log_sum) as f32 }
    };
    let top = highest_tokens(logits, count).into_iter().map(token_logprob).collect();
    Logprob { chosen: token_logprob(chosen), top }
}

fn highest_tokens(logits: &[f32], count: usize) -> Vec<LlamaToken> {
    let count = count.min(logits.len());
    if count == 0 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..logits.len()).collect();
    let descending = |left: &usize, right: &usize| logits[*right].total_cmp(&logits[*left]);
    order.select_nth_unstable_by(count - 1, descending);
    order.truncate(count);
    order.sort_by(descending);
    order.into_iter().filter_map(|at| i32::try_from(at).ok()).map(LlamaToken).collect()
}

#[cfg(test)]
mod tests {
    use super::logprob;
    use llama_cpp_2::token::LlamaToken;

    #[test]
    fn probabilities_sum_to_one_and_alternatives_are_sorted() {
        let logits = [0.0, 2.0, 1.0, -5.0];
        let all = logprob(&logits, LlamaToken(2), 4);
        let sum: f32 = all.top.iter().map(|token_logprob| token_logprob.logprob.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        let tokens: Vec<i32> = all.top.iter().map(|token_logprob| token_logprob.token.0).collect();
        assert_eq!(tokens, [1, 2, 0, 3]);
        assert_eq!(all.chosen, all.top[1]);
    }

    #[test]
    fn zero_alternatives_are_empty() {
        assert!(logprob(&[1.0, 2.0], LlamaToken(0), 0).top.is_empty());
    }
}
