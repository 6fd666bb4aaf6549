/** The model that an empty installation can run at once: small enough for any machine. */

import type { NewModel, OperatorModel } from '../../../api/operator/catalogue'
import type { WeightsLookup } from '../../../api/operator/weights'

export const STARTER = {
  reference: 'hf://bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf',
  modelName: 'smollm2-135m-instruct',
  name: 'SmolLM2 135M Instruct',
} as const

/**
 * Its definition. It is a quantized build, so it has the operator's prefix and not that of the author, which means raw
 * weights. The lookup names the commit, so that every node runs the same files.
 */
export const starterModel = ({ models }: Pick<WeightsLookup, 'models'>, operatorPrefix: string): NewModel => ({
  id: `${operatorPrefix}/${STARTER.modelName}`,
  name: STARTER.name,
  optimized: true,
  contextLength: 8_192,
  engine: { weights: models[0]?.weights ?? STARTER.reference },
})

/** Whether it is offered: to an installation without models that may add some. `undefined` is not loaded yet. */
export const offersStarter = (
  models: readonly OperatorModel[] | undefined,
  catalogue: { writable: boolean } | undefined,
): boolean => models?.length === 0 && catalogue?.writable === true
