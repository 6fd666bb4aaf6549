/** The first steps of an installation. */

export type Step = 'model' | 'key' | 'call'
export type Progress = { models: number; keys: number; calls: number }

/** Which steps are done. */
export const doneSteps = ({ models, keys, calls }: Progress): Record<Step, boolean> => ({
  model: models > 0,
  key: keys > 0,
  call: calls > 0,
})
