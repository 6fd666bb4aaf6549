import type { Choice } from './choices'

/** Why nothing can be sent, before it is refused; undefined when it can. */
export function whyNotSend(models: readonly string[], choices: readonly Choice[]): string | undefined {
  for (const model of models) {
    const choice = choices.find((one) => one.id === model)
    if (!choice) return `${model} is not there, or does not serve now. Choose another model.`
    if (choice.isUnavailable) return `${model} is unavailable now. Choose another model, or wait until it is back.`
  }
  return undefined
}
