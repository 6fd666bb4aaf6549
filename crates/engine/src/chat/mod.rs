//! A chat call: what was asked, and the orders for the decoding thread that follow from it.

mod messages;
mod request;

pub(crate) use request::{ChatRequest, Format, StreamOptions, object};

use crate::decode::Order;
use crate::model::Model;
use crate::refusal::Refusal;
use crate::sampling::Sampler;
use llama_cpp_2::token::LlamaToken;

/// One order for each choice; refused here when it cannot fit, before anything is computed.
pub(crate) fn orders(request: &ChatRequest, model: &Model) -> Result<Vec<Order>, Refusal> {
    if !request.tools.is_empty() && !model.template.knows_tools() {
        return Err(Refusal::unsupported("tools", "the chat template of this model has no place for them"));
    }
    let prompt = model.template.render(&request.messages, &request.tools, &request.template_extras)?;
    let prompt = model.tokenize_prompt(&prompt);
    let max_new = room_for_answer(prompt.len(), request.max_tokens, model.context_length)?;
    let constraint = match &request.format {
        Format::Text => None,
        Format::JsonObject => Some(constraints(model)?.object()?),
        Format::JsonSchema(schema) => Some(constraints(model)?.schema(schema, "response_format.json_schema.schema")?),
    };
    check_biases(request, model)?;
    let order = |prompt: Vec<LlamaToken>, index| Order {
        sampler: Sampler::new(&request.sampling, model.llama(), &prompt, constraint.as_ref(), index),
        prompt,
        max_new,
        stops: request.stops.clone(),
        logprobs: request.logprobs,
    };
    Ok((0..request.choices).map(|index| order(prompt.clone(), index)).collect())
}

fn constraints(model: &Model) -> Result<&crate::constraint::Constraints, Refusal> {
    let reason = "the vocabulary of this model does not allow constrained answers";
    model.constraints().ok_or_else(|| Refusal::unsupported("response_format", reason))
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
