//! A chat call: what was asked, and the orders for the decoding thread that follow from it.

mod messages;
mod request;

pub(crate) use request::{ChatRequest, Format, StreamOptions, object};

use crate::constraint::Constraints;
use crate::decode::Order;
use crate::model::Model;
use crate::refusal::Refusal;
use crate::sampling::Sampler;
use crate::tools::{Choice, Reader, Syntax};
use llama_cpp_2::token::LlamaToken;

/// One order for each choice; refused here when it cannot fit, before anything is computed.
pub(crate) fn orders(request: &ChatRequest, model: &Model) -> Result<Vec<Order>, Refusal> {
    if !request.tools.is_empty() && !model.template.knows_tools() {
        return Err(Refusal::unsupported("tools", "the chat template of this model has no place for them"));
    }
    let syntax = model.template.syntax();
    let mut prompt = model.template.render(&request.messages, &request.tools.definitions, &request.template_extras)?;
    if request.tools.choice == Choice::Forced {
        prompt.push_str(syntax.opening());
    }
    let prompt = model.tokenize_prompt(&prompt);
    let max_new = room_for_answer(prompt.len(), request.max_tokens, model.context_length)?;
    let constraint = match &request.format {
        Format::Text if request.tools.choice == Choice::Forced => {
            Some(constraints(model, "tool_choice")?.call(syntax, &request.tools.functions)?)
        }
        Format::Text => None,
        Format::JsonObject => Some(constraints(model, "response_format")?.object()?),
        Format::JsonSchema(schema) => {
            let constraints = constraints(model, "response_format")?;
            Some(constraints.schema(schema, "response_format.json_schema.schema")?)
        }
    };
    check_biases(request, model)?;
    let order = |prompt: Vec<LlamaToken>, index| Order {
        sampler: Sampler::new(&request.sampling, model.llama(), &prompt, constraint.as_ref(), index),
        prompt,
        max_new,
        stops: stops(request, syntax),
        logprobs: request.logprobs,
    };
    Ok((0..request.choices).map(|index| order(prompt.clone(), index)).collect())
}

/// What reads calls of tools out of an answer; `None` where none were offered.
pub(crate) fn reader(request: &ChatRequest, model: &Model) -> Option<Reader> {
    let tools = &request.tools;
    let most = if tools.parallel { usize::MAX } else { 1 };
    match tools.choice {
        Choice::Free if tools.is_empty() => None,
        Choice::Free => Some(Reader::new(model.template.syntax(), &tools.functions, most)),
        // What comes before the JSON is in the prompt.
        Choice::Forced => Some(Reader::new(Syntax::Bare, &tools.functions, 1)),
    }
}

/// What ends the answer: what the caller said, and the first call where one is enough.
fn stops(request: &ChatRequest, syntax: Syntax) -> Vec<String> {
    let mut stops = request.stops.clone();
    if !request.tools.is_empty() && !request.tools.parallel {
        stops.extend(syntax.closing().map(str::to_owned));
    }
    stops
}

fn constraints<'model>(model: &'model Model, param: &str) -> Result<&'model Constraints, Refusal> {
    let reason = "the vocabulary of this model does not allow constrained answers";
    model.constraints().ok_or_else(|| Refusal::unsupported(param, reason))
}

/// How many tokens the answer may have; a limit that does not fit beside the prompt is refused, not cut.
fn room_for_answer(prompt: usize, asked: Option<usize>, limit: usize) -> Result<usize, Refusal> {
    let room = limit.saturating_sub(prompt);
    if room == 0 {
        return Err(Refusal::PromptTooLong { limit, prompt });
    }
    match asked {
        None => Ok(room),
        Some(asked) if asked <= room => Ok(asked),
        Some(asked) => Err(Refusal::AnswerTooLong { limit, prompt, asked }),
    }
}

fn check_biases(request: &ChatRequest, model: &Model) -> Result<(), Refusal> {
    let vocabulary = model.llama().n_vocab();
    match request.sampling.logit_bias.iter().find(|(token, _)| *token >= vocabulary) {
        None => Ok(()),
        Some((token, _)) => {
            let problem = format!("is no token of this model, which has {vocabulary}");
            Err(Refusal::invalid(format!("logit_bias.{token}"), problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::room_for_answer;
    use crate::refusal::Refusal;

    #[test]
    fn a_limit_fits_beside_the_prompt_or_is_refused_with_the_numbers() {
        assert_eq!(room_for_answer(10, None, 100), Ok(90));
        assert_eq!(room_for_answer(10, Some(90), 100), Ok(90));
        assert_eq!(
            room_for_answer(10, Some(91), 100),
            Err(Refusal::AnswerTooLong { limit: 100, prompt: 10, asked: 91 })
        );
        assert_eq!(room_for_answer(100, None, 100), Err(Refusal::PromptTooLong { limit: 100, prompt: 100 }));
    }
}
