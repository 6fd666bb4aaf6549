/** What the models of a chat have shown not to do, so that it is not offered. */

import type { ModelOption } from './model-options'

const LACKING = {
  images: 'does not read images',
  tools: 'does not call tools',
  json_schema: 'does not follow JSON schemas',
  reasoning: 'does not think apart from its text',
} as const
export type Feature = keyof typeof LACKING
export type Lacking = (feature: Feature) => string | undefined

/** Why a feature cannot be used with all of the models; undefined if it can, or if that is not known. */
export const lackingIn =
  (models: readonly string[], options: readonly ModelOption[]): Lacking =>
  (feature) => {
    const model = models.find((id) => options.find((one) => one.id === id)?.capabilities?.[feature] === false)
    return model && `${model} ${LACKING[feature]}`
  }
