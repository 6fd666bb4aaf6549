//! The book of the KV cache: which tokens each sequence has there, and where a new prompt starts best.
//!
//! llama.cpp keeps one pool of cells for all sequences. A sequence whose answer has ended keeps its cells until someone
//! needs the room, so that a prompt with the same beginning starts from there. Nothing here touches llama.cpp.

use llama_cpp_2::token::LlamaToken;

/// What one sequence has in the cache.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    pub tokens: Vec<LlamaToken>,
    /// An answer is being made in it.
    pub busy: bool,
    /// When it was last given back, in steps; the smallest is taken first.
    pub idle_since: u64,
}

/// Where a prompt goes, and what of it is there already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// This idle sequence, of whose tokens the first `reused` stay.
    Own { sequence: usize, reused: usize },
    /// This idle sequence, emptied, with the first `reused` tokens of another one.
    Copied { sequence: usize, from: usize, reused: usize },
}

/// The best place for a prompt; `None` when all sequences are busy.
///
/// The last token of a prompt is never reused: something must be computed to get the next one.
pub(crate) fn place(sequences: &[Sequence], prompt: &[LlamaToken]) -> Option<Place> {
    let oldest_idle =
        (0..sequences.len()).filter(|&at| !sequences[at].busy).min_by_key(|&at| sequences[at].idle_since)?;
    let reusable = prompt.len().saturating_sub(1);
    let common = |at: &usize| common_prefix(&sequences[*at].tokens, prompt).min(reusable);
    let best = (0..sequences.len()).max_by_key(|at| (common(at), !sequences[*at].busy))?;
    let reused = common(&best);
    if reused == 0 {
        return Some(Place::Own { sequence: oldest_idle, reused: 0 });
    }
    // A sequence that has much else is left to those who come back for it; its beginning is copied.
    let mostly_shared = reused * 2 >= sequences[best].tokens.len();
    if !sequences[best].busy && (mostly_shared || best == oldest_idle) {
        return Some(Place::Own { sequence: best, reused });
    }
    Some(Place::Copied { sequence: oldest_idle, from: best, reused })
}

fn common_prefix(left: &[LlamaToken], right: &[LlamaToken]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Cells of running answers: what cannot be taken away.
pub(crate) fn cells_in_use(sequences: &[Sequence]) -> usize {
    sequences.iter().filter(|sequence| sequence.busy).map(|sequence| sequence.tokens.len()).sum()
}

/// Cells that hold something, also what is only kept in case it is asked for again.
pub(crate) fn cells_filled(sequences: &[Sequence]) -> usize {
    sequences.iter().map(|sequence| sequence.tokens.len()).sum()
}

/// The idle sequence to empty next.
pub(crate) fn oldest_filled_idle(sequences: &[Sequence]) -> Option<usize> {
    let idle = (0..sequences.len()).filter(|&at| !sequences[at].busy && !sequences[at].tokens.is_empty());
    idle.min_by_key(|&at| sequences[at].idle_since)
}

#[cfg(test)]
mod tests {
    use super::{Place, Sequence, cells_filled, cells_in_use, oldest_filled_idle, place};
    use llama_cpp_2::token::LlamaToken;

    fn tokens(ids: &[i32]) -> Vec<LlamaToken> {
        ids.iter().map(|id| LlamaToken(*id)).collect()
    }

    fn sequence(ids: &[i32], busy: bool, idle_since: u64) -> Sequence {
        Sequence { tokens: tokens(ids), busy, idle_since }
    }

    #[test]
    fn a_prompt_continues_where_its_beginning_still_is() {
        let sequences = [sequence(&[9, 9], false, 1), sequence(&[1, 2, 3], false, 2)];
        assert_eq!(place(&sequences, &tokens(&[1, 2, 3, 4])), Some(Place::Own { sequence: 1, reused: 3 }));
    }

    #[test]
    fn the_same_prompt_again_computes_its_last_token() {
        let sequences = [sequence(&[1, 2, 3], false, 2)];
        assert_eq!(place(&sequences, &tokens(&[1, 2, 3])), Some(Place::Own { sequence: 0, reused: 2 }));
    }

    #[test]
    fn the_beginning_of_a_busy_sequence_is_copied() {
        let sequences = [sequence(&[1, 2, 3, 4], true, 0), sequence(&[7], false, 5), sequence(&[8], false, 3)];
        let expected = Place::Copied { sequence: 2, from: 0, reused: 2 };
        assert_eq!(place(&sequences, &tokens(&[1, 2, 5])), Some(expected));
    }

    #[test]
    fn a_long_conversation_is_not_given_up_for_a_shared_greeting() {
        let sequences = [sequence(&[1, 2, 3, 4, 5, 6], false, 9), sequence(&[], false, 1)];
        let expected = Place::Copied { sequence: 1, from: 0, reused: 2 };
        assert_eq!(place(&sequences, &tokens(&[1, 2, 7, 8])), Some(expected));
    }

    #[test]
    fn strangers_take_the_sequence_that_was_idle_longest() {
        let sequences = [sequence(&[1], false, 4), sequence(&[2], false, 3)];
        assert_eq!(place(&sequences, &tokens(&[5, 6])), Some(Place::Own { sequence: 1, reused: 0 }));
        assert_eq!(place(&[sequence(&[1], true, 0)], &tokens(&[1])), None);
    }

    #[test]
    fn only_running_answers_count_as_use() {
        let sequences = [sequence(&[1, 2], true, 0), sequence(&[1, 2, 3], false, 3), sequence(&[4], false, 2)];
        assert_eq!((cells_in_use(&sequences), cells_filled(&sequences)), (2, 6));
        assert_eq!(oldest_filled_idle(&sequences), Some(2));
    }
}
