//! The usage in chunks: that of the engine, and a last chunk with ours.

use super::ChunkNormalizer;
use crate::response::service_tier::FLEX_MEMBER;
use crate::response::tokens::{Ended, TokenMeter};
use crate::response::usage::{ReportedUsage, prompt_details};
use bytes::BytesMut;
use domain::usage::Tokens;
use json::edits::Edits;
use json::members::removal;
use std::ops::Range;

impl ChunkNormalizer {
    #[inline]
    pub(super) fn settle_usage(
        &mut self,
        chunk: &[u8],
        usage: Option<(Range<usize>, Option<ReportedUsage>)>,
        choices: usize,
        meter: &mut TokenMeter,
        edits: &mut Edits<'_>,
    ) {
        let Some((member, reported)) = usage else { return };
        let tokens = reported.as_ref().and_then(|reported| self.report(reported, choices, meter));
        match (reported, tokens) {
            (Some(reported), Some(tokens)) => {
                self.usage_sent |= choices == 0;
                reported.correct(tokens, edits);
            }
            _ => edits.replace(removal(chunk, member), Vec::new()),
        }
    }

    /// Counts the usage in a chunk. Returns the counts to show the client, if it is to see this usage.
    #[inline]
    fn report(&self, reported: &ReportedUsage, choices: usize, meter: &mut TokenMeter) -> Option<Tokens> {
        let ended = Ended { last: self.last_finished, all: self.all_finished() };
        match choices {
            0 => {
                // Until every choice has ended, this is the usage of one of them. Ours follows at the end.
                let is_whole = meter.report_end(reported, ended) && self.has_all_choices() && !meter.is_resumed();
                return (self.wants_usage && is_whole).then(|| meter.tokens().0);
            }
            1 => meter.report_choice(self.current, reported, ended),
            _ => meter.report_choices(reported),
        }
        self.wants_running_usage.then(|| {
            let (counted, _) = meter.tokens();
            if meter.is_resumed() {
                return counted;
            }
            Tokens {
                prompt: reported.prompt().unwrap_or(counted.prompt),
                completion: reported.completion().unwrap_or(counted.completion),
                cached: counted.cached,
            }
        })
    }

    fn has_all_choices(&self) -> bool {
        self.choices <= 1 || u64::from(self.finished.count_ones()) >= self.choices
    }

    /// Writes the last chunk, with the usage and without choices, if the engine did not send it.
    pub(in crate::response) fn write_usage(&mut self, meter: &TokenMeter, out: &mut BytesMut) {
        if !self.wants_usage || self.usage_sent {
            return;
        }
        self.usage_sent = true;
        let (tokens, _) = meter.tokens();
        let id = self.id.as_deref().unwrap_or(b"\"\"");
        let created = self.created.as_deref().unwrap_or(b"0");
        out.extend_from_slice(b"data: {");
        if self.is_flex {
            out.extend_from_slice(FLEX_MEMBER);
        }
        out.extend_from_slice(b"\"id\":");
        out.extend_from_slice(id);
        out.extend_from_slice(b",\"object\":\"");
        out.extend_from_slice(if self.has_texts { &b"text_completion"[..] } else { b"chat.completion.chunk" });
        out.extend_from_slice(b"\",\"created\":");
        out.extend_from_slice(created);
        out.extend_from_slice(b",\"model\":");
        out.extend_from_slice(&self.model);
        let usage = format!(
            ",\"choices\":[],\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{},\
             \"prompt_tokens_details\":{}}}}}\n\n",
            tokens.prompt,
            tokens.completion,
            tokens.total(),
            prompt_details(tokens)
        );
        out.extend_from_slice(usage.as_bytes());
    }
}
