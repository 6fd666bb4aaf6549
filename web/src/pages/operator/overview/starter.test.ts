import { expect, it } from 'vitest'
import type { RunnableWeights } from '../../../api/operator/weights'
import { STARTER, starterModel } from './starter'

it('the starter model runs the files of the commit that was looked up', () => {
  const weights = STARTER.reference.replace('-GGUF/', '-GGUF@0123456/')
  expect(starterModel({ models: [{ weights } as RunnableWeights] }).engine).toEqual({ weights })
  expect(starterModel({ models: [] }).engine).toEqual({ weights: STARTER.reference })
})
