import type { ModelOption } from './model-options'

/** Why a message cannot be sent; undefined if it can. */
export function blockedReason(models: readonly string[], options: readonly ModelOption[]): string | undefined {
  for (const model of models) {
    const option = options.find((one) => one.id === model)
    if (!option) return `${model} does not exist or is not serving. Choose another model.`
    if (option.endpoint?.state === 'suspended') return `${model} is suspended. Resume it to call it.`
    if (option.isUnavailable)
      return `${model} is currently unavailable. Choose another model, or wait until it is available again.`
  }
  return undefined
}

/** The first of the models that is a suspended endpoint, by name. */
export const suspendedOf = (models: readonly string[], options: readonly ModelOption[]) =>
  models
    .map((model) => options.find((one) => one.id === model)?.endpoint)
    .find((endpoint) => endpoint?.state === 'suspended')?.name
