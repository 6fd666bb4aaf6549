//! Distributes the token budget of a step.

/// Prompt tokens per step while no generation is waiting for its next token.
pub(super) const PREFILL_ALONE: usize = 512;
/// Prompt tokens per step while other generations are running; small, so that they keep their pace.
pub(super) const PREFILL_SHARED: usize = 96;

/// Prompt tokens per step while one of the prompts is scored: each has a row of logits as long as the vocabulary.
pub(super) const PREFILL_SCORED: usize = 64;

/// Shares `budget` evenly among the needs; what small needs leave over is shared among the others.
///
/// For example, 100 among 10, 400 and 400 gives 10, 45 and 45. No part exceeds its need, and nothing is left over while a
/// need is unmet.
pub(super) fn share(budget: usize, needs: &[usize]) -> Vec<usize> {
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
    use super::share;

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
}
