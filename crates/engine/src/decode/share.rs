//! Distributes the token budget of a step.

/// Prompt tokens per step while no generation is waiting for its next token.
pub(super) const PREFILL_ALONE: usize = 512;
/// Prompt tokens per step while other generations are running; small, so that they keep their pace.
pub(super) const PREFILL_SHARED: usize = 96;
/// Tokens of scored prompts per step: each has a row of logits as long as the vocabulary.
const PREFILL_SCORED: usize = 64;

/// What a prompt needs of the next steps.
pub(super) struct PromptNeed {
    pub(super) tokens: usize,
    pub(super) is_scored: bool,
}

/// Shares `budget` among prompts as [`share`] does. Scored prompts get at most [`PREFILL_SCORED`] together, and the others
/// what these leave.
///
/// For example, 512 among a scored prompt of 400 and another one of 900 gives 64 and 448.
pub(super) fn share_among_prompts(budget: usize, prompts: &[PromptNeed]) -> Vec<usize> {
    let needs_of = |is_scored: bool| -> Vec<usize> {
        prompts.iter().map(|need| if need.is_scored == is_scored { need.tokens } else { 0 }).collect()
    };
    let all: Vec<usize> = prompts.iter().map(|need| need.tokens).collect();
    let fair = share(budget, &all);
    let of_scored: usize = fair.iter().zip(prompts).filter(|(_, need)| need.is_scored).map(|(part, _)| part).sum();
    let of_scored = of_scored.min(PREFILL_SCORED);
    let (scored, others) = (share(of_scored, &needs_of(true)), share(budget - of_scored, &needs_of(false)));
    scored.into_iter().zip(others).map(|(scored, other)| scored + other).collect()
}

/// Shares `budget` evenly among the needs; what small needs leave over is shared among the others.
///
/// For example, 100 among 10, 400 and 400 gives 10, 45 and 45. No part exceeds its need, and nothing is left over while a
/// need is unmet.
fn share(budget: usize, needs: &[usize]) -> Vec<usize> {
    let mut parts = vec![0; needs.len()];
    let mut left = budget;
    loop {
        let unmet: Vec<usize> = (0..needs.len()).filter(|&at| parts[at] < needs[at]).collect();
        if left == 0 || unmet.is_empty() {
            return parts;
        }
        // At least one token each, so that a budget smaller than the number of needs is spent from the front.
        let even = (left / unmet.len()).max(1);
        for at in unmet {
            let part = even.min(needs[at] - parts[at]).min(left);
            parts[at] += part;
            left -= part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PromptNeed, share, share_among_prompts};

    #[test]
    fn the_budget_is_shared_evenly_and_spent_completely() {
        let cases: [(usize, &[usize], &[usize]); 7] = [
            (100, &[], &[]),
            (100, &[40], &[40]),
            (100, &[400], &[100]),
            (100, &[400, 400], &[50, 50]),
            (100, &[10, 400, 400], &[10, 45, 45]),
            (2, &[5, 5, 5], &[1, 1, 0]),
            (0, &[5], &[0]),
        ];
        for (budget, needs, parts) in cases {
            assert_eq!(share(budget, needs), parts, "{budget} among {needs:?}");
        }
    }

    #[test]
    fn only_scored_prompts_share_the_small_budget() {
        let parts = |budget, needs: &[(usize, bool)]| {
            let need = |&(tokens, is_scored): &(usize, bool)| PromptNeed { tokens, is_scored };
            share_among_prompts(budget, &needs.iter().map(need).collect::<Vec<_>>())
        };
        assert_eq!(parts(512, &[(400, true), (900, false)]), [64, 448]);
        assert_eq!(parts(512, &[(400, true), (900, false), (400, true)]), [32, 448, 32]);
        assert_eq!(parts(96, &[(400, true), (400, false)]), [48, 48]);
        assert_eq!(parts(512, &[(400, true), (0, false)]), [64, 0]);
        assert_eq!(parts(512, &[(10, true), (900, false)]), [10, 502]);
        assert_eq!(parts(512, &[(400, false), (400, false)]), [256, 256]);
    }
}
