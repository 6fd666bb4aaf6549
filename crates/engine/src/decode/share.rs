//! Who gets how many tokens of the next step.

/// Tokens of prompts in one step while nobody waits for a next token.
pub(super) const PREFILL_ALONE: usize = 512;
/// Tokens of prompts in one step beside answers that are being written: small, so that they keep their pace.
pub(super) const PREFILL_BESIDE_OTHERS: usize = 96;

/// Shares `budget` among the needs, evenly, and what the small ones leave among the others.
///
/// The parts come in the order of the needs. Nobody gets more than needed, and nothing is left while someone needs it.
pub(super) fn share(budget: usize, needs: &[usize]) -> Vec<usize> {
    let mut parts = vec![0; needs.len()];
    let mut left = budget;
    loop {
        let hungry: Vec<usize> = (0..needs.len()).filter(|&at| parts[at] < needs[at]).collect();
        if left == 0 || hungry.is_empty() {
            return parts;
        }
        // At least one token each, so that a budget smaller than the crowd is spent from the front.
        let even = (left / hungry.len()).max(1);
        for at in hungry {
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
    fn the_budget_is_shared_evenly_and_spent_whole() {
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
