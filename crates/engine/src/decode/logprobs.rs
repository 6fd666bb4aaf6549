//! The probabilities behind a chosen token, as the model gave them before any sampling setting.

use llama_cpp_2::token::LlamaToken;

/// A token and the logarithm of its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chances {
    pub token: LlamaToken,
    pub logprob: f32,
}

/// The chosen token and the likeliest ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Logprob {
    pub chosen: Chances,
    pub top: Vec<Chances>,
}

/// Log-softmax of the logits at the chosen token and at the `count` highest.
pub(super) fn logprob(logits: &[f32], chosen: LlamaToken, count: usize) -> Logprob {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - highest).exp()).sum();
    let log_sum = f64::from(highest) + sum.ln();
    let chances = |token: LlamaToken| {
        let logit = usize::try_from(token.0).ok().and_then(|at| logits.get(at)).copied().unwrap_or(f32::NEG_INFINITY);
        Chances { token, logprob: (f64::from(logit) - log_sum) as f32 }
    };
    let top = highest_tokens(logits, count).into_iter().map(chances).collect();
    Logprob { chosen: chances(chosen), top }
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
    fn probabilities_sum_to_one_and_the_top_is_in_order() {
        let logits = [0.0, 2.0, 1.0, -5.0];
        let all = logprob(&logits, LlamaToken(2), 4);
        let sum: f32 = all.top.iter().map(|chances| chances.logprob.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        let tokens: Vec<i32> = all.top.iter().map(|chances| chances.token.0).collect();
        assert_eq!(tokens, [1, 2, 0, 3]);
        assert_eq!(all.chosen, all.top[1]);
    }

    #[test]
    fn no_top_is_asked_for_and_none_comes() {
        assert!(logprob(&[1.0, 2.0], LlamaToken(0), 0).top.is_empty());
    }
}
