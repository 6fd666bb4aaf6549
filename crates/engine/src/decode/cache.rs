//! Bookkeeping of the KV cache: the tokens of each sequence, and the best placement of a new prompt.
//!
//! llama.cpp has one pool of cells for all sequences. A finished sequence keeps its cells until the space is needed, so
//! that a prompt with the same prefix can reuse them. This module does not call llama.cpp.
//!
//! Callers are kept apart by salts: a prompt reuses only sequences of its own salt, so `cached_tokens` and the time to the
//! first token reveal nothing about the prompts of others.

use llama_cpp_2::token::LlamaToken;
use std::sync::Arc;

/// The `cache_salt` of a call. Calls without one share their sequences.
pub(crate) type Salt = Option<Arc<str>>;

/// Contents of one sequence in the cache.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    pub tokens: Vec<LlamaToken>,
    /// The salt of the call that computed the tokens.
    pub salt: Salt,
    /// A generation is using it.
    pub busy: bool,
    /// Step at which it became idle; the oldest is evicted first.
    pub idle_since: u64,
}

/// The sequence for a prompt, and how much of the prompt is already cached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// An idle sequence that keeps its first `reused` tokens.
    Own { sequence: usize, reused: usize },
    /// An emptied idle sequence that gets the first `reused` tokens of another one.
    Copied { sequence: usize, from: usize, reused: usize },
}

/// Finds the best placement of a prompt; `None` if all sequences are busy.
///
/// Picks the sequence of the same salt with the longest common prefix. If it is idle and at least half of it is shared, it is reused
/// directly; otherwise its prefix is copied to the sequence that has been idle longest, so that the rest of a longer
/// conversation stays cached. For example, `1 2 7` takes `1 2` from an idle `1 2 3 4 5 6` as a copy. The last token of a
/// prompt is never reused, because it must be computed to get the next one.
pub(crate) fn find_placement(sequences: &[Sequence], prompt: &[LlamaToken], salt: &Salt) -> Option<Placement> {
    let oldest_idle =
        (0..sequences.len()).filter(|&at| !sequences[at].busy).min_by_key(|&at| sequences[at].idle_since)?;
    let reusable = prompt.len().saturating_sub(1);
    let common = |at: &usize| {
        let sequence = &sequences[*at];
        if sequence.salt == *salt { common_prefix(&sequence.tokens, prompt).min(reusable) } else { 0 }
    };
    let best = (0..sequences.len()).max_by_key(|at| (common(at), !sequences[*at].busy))?;
    let reused = common(&best);
    if reused == 0 {
        return Some(Placement::Own { sequence: oldest_idle, reused: 0 });
    }
    // A sequence with much other content is kept for its own conversation.
    let mostly_shared = reused * 2 >= sequences[best].tokens.len();
    if !sequences[best].busy && (mostly_shared || best == oldest_idle) {
        return Some(Placement::Own { sequence: best, reused });
    }
    Some(Placement::Copied { sequence: oldest_idle, from: best, reused })
}

fn common_prefix(left: &[LlamaToken], right: &[LlamaToken]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Cells of running generations, which cannot be evicted.
pub(crate) fn cells_in_use(sequences: &[Sequence]) -> usize {
    sequences.iter().filter(|sequence| sequence.busy).map(|sequence| sequence.tokens.len()).sum()
}

/// Cells in use, including idle sequences.
pub(crate) fn cells_filled(sequences: &[Sequence]) -> usize {
    sequences.iter().map(|sequence| sequence.tokens.len()).sum()
}

/// The idle sequence to evict next.
pub(crate) fn oldest_filled_idle(sequences: &[Sequence]) -> Option<usize> {
    let idle = (0..sequences.len()).filter(|&at| !sequences[at].busy && !sequences[at].tokens.is_empty());
    idle.min_by_key(|&at| sequences[at].idle_since)
}

#[cfg(test)]
mod tests {
    use super::{Placement, Sequence, cells_filled, cells_in_use, oldest_filled_idle};
    use llama_cpp_2::token::LlamaToken;

    fn tokens(ids: &[i32]) -> Vec<LlamaToken> {
        ids.iter().map(|id| LlamaToken(*id)).collect()
    }

    fn sequence(ids: &[i32], busy: bool, idle_since: u64) -> Sequence {
        Sequence { tokens: tokens(ids), salt: None, busy, idle_since }
    }

    fn find_placement(sequences: &[Sequence], prompt: &[LlamaToken]) -> Option<Placement> {
        super::find_placement(sequences, prompt, &None)
    }

    #[test]
    fn a_prompt_reuses_nothing_of_another_salt() {
        let salted = |salt: &str| Sequence { salt: Some(salt.into()), ..sequence(&[1, 2, 3], false, 2) };
        let sequences = [salted("a"), sequence(&[9], false, 1)];
        let prompt = tokens(&[1, 2, 3, 4]);
        let unrelated = Some(Placement::Own { sequence: 1, reused: 0 });
        assert_eq!(super::find_placement(&sequences, &prompt, &Some("b".into())), unrelated);
        assert_eq!(super::find_placement(&sequences, &prompt, &None), unrelated);
        let own = Some(Placement::Own { sequence: 0, reused: 3 });
        assert_eq!(super::find_placement(&sequences, &prompt, &Some("a".into())), own);
    }

    #[test]
    fn a_prompt_reuses_a_sequence_with_its_prefix() {
        let sequences = [sequence(&[9, 9], false, 1), sequence(&[1, 2, 3], false, 2)];
        assert_eq!(find_placement(&sequences, &tokens(&[1, 2, 3, 4])), Some(Placement::Own { sequence: 1, reused: 3 }));
    }

    #[test]
    fn a_repeated_prompt_computes_its_last_token() {
        let sequences = [sequence(&[1, 2, 3], false, 2)];
        assert_eq!(find_placement(&sequences, &tokens(&[1, 2, 3])), Some(Placement::Own { sequence: 0, reused: 2 }));
    }

    #[test]
    fn the_prefix_of_a_busy_sequence_is_copied() {
        let sequences = [sequence(&[1, 2, 3, 4], true, 0), sequence(&[7], false, 5), sequence(&[8], false, 3)];
        let expected = Placement::Copied { sequence: 2, from: 0, reused: 2 };
        assert_eq!(find_placement(&sequences, &tokens(&[1, 2, 5])), Some(expected));
    }

    #[test]
    fn a_long_conversation_is_not_evicted_for_a_short_shared_prefix() {
        let sequences = [sequence(&[1, 2, 3, 4, 5, 6], false, 9), sequence(&[], false, 1)];
        let expected = Placement::Copied { sequence: 1, from: 0, reused: 2 };
        assert_eq!(find_placement(&sequences, &tokens(&[1, 2, 7, 8])), Some(expected));
    }

    #[test]
    fn an_unrelated_prompt_takes_the_sequence_that_was_idle_longest() {
        let sequences = [sequence(&[1], false, 4), sequence(&[2], false, 3)];
        assert_eq!(find_placement(&sequences, &tokens(&[5, 6])), Some(Placement::Own { sequence: 1, reused: 0 }));
        assert_eq!(find_placement(&[sequence(&[1], true, 0)], &tokens(&[1])), None);
    }

    #[test]
    fn only_running_generations_count_as_use() {
        let sequences = [sequence(&[1, 2], true, 0), sequence(&[1, 2, 3], false, 3), sequence(&[4], false, 2)];
        assert_eq!((cells_in_use(&sequences), cells_filled(&sequences)), (2, 6));
        assert_eq!(oldest_filled_idle(&sequences), Some(2));
    }
}
