//! Sends one question after another, and judges the responses.

use super::judge::{self, Evidence};
use super::questions::{Asked, MAX_OVERFLOW_CONTEXT, Question};
use super::server::{ModelServer, ProbeError};
use domain::capabilities::{Capabilities, Capability, Support};

/// What a probe has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    pub capabilities: Capabilities,
    /// Whether all questions were asked. If not, the server did not respond or rejected further calls for now.
    pub is_complete: bool,
}

/// Asks a server what it can do with a model. The server's deadline bounds all questions together.
pub async fn learn(server: &ModelServer, model: &str, context_length: u64) -> Learned {
    let asked = Asked { model, context_length };
    let mut evidence = Evidence::default();
    let mut is_complete = true;
    for question in Question::ALL {
        if !is_worth_asking(question, &asked, &evidence) {
            continue;
        }
        match server.ask(&question.route(), &question.body(&asked)).await {
            Ok(reply) if reply.ends_the_probe() => {
                is_complete = false;
                break;
            }
            Ok(reply) => drop(evidence.0.insert(question, reply)),
            // A slow or unreadable response says nothing about the others.
            Err(ProbeError::Unexpected(_)) => {}
            Err(ProbeError::Unreachable(_)) => {
                is_complete = false;
                break;
            }
        }
    }
    Learned { capabilities: judge::judge(&evidence), is_complete }
}

/// Whether the response would say something that is not known so far. Everything about chats needs one that works.
fn is_worth_asking(question: Question, asked: &Asked<'_>, evidence: &Evidence) -> bool {
    let known = |capability| judge::judge(evidence).get(capability);
    match question {
        Question::Chat
        | Question::Completion
        | Question::Embedding
        | Question::Rerank
        | Question::Score
        | Question::Tokenize => true,
        Question::TeiRerank => known(Capability::Rerank) != Support::Yes,
        Question::PlainSchema | Question::WithReasoning | Question::WithoutReasoning => {
            known(Capability::Reasoning) == Support::Yes
        }
        Question::Overflow => known(Capability::Chat) == Support::Yes && asked.context_length <= MAX_OVERFLOW_CONTEXT,
        Question::Stream
        | Question::Tools
        | Question::ForcedTool
        | Question::StreamedTool
        | Question::Schema
        | Question::InvalidStream
        | Question::Logprobs
        | Question::Image
        | Question::Prompt
        | Question::RepeatedPrompt
        | Question::Messages
        | Question::Responses => known(Capability::Chat) == Support::Yes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_chat_nothing_is_asked_about_chats() {
        use Question::{Chat, Completion, Embedding, Rerank, Score, TeiRerank, Tokenize};
        let asked = Asked { model: "tiny", context_length: 512 };
        let nothing = Evidence::default();
        let questions = Question::ALL.into_iter().filter(|question| is_worth_asking(*question, &asked, &nothing));
        let expected = [Chat, Completion, Embedding, Rerank, TeiRerank, Score, Tokenize];
        assert_eq!(questions.collect::<Vec<_>>(), expected);
    }
}
