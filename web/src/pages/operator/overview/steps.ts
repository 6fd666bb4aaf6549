/** The first steps of an installation. */

export type Step = 'model' | 'key' | 'call'
export type Progress = { models: number; keys: number; calls: number }

/** Which steps are done. */
export const doneSteps = ({ models, keys, calls }: Progress): Record<Step, boolean> => ({
  model: models > 0,
  key: keys > 0,
  call: calls > 0,
})

/** The first call as curl; `model` may be unknown yet. */
export const firstCall = (origin: string, model: string) => `curl ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer $FOREBAY_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`
