import { expect, it } from 'vitest'
import type { OperatorModel } from '../../../api/operator/catalogue'
import type { RunnableWeights } from '../../../api/operator/weights'
import { offersStarter, STARTER, starterModel } from './starter'

it('the starter model runs the files of the commit that was looked up', () => {
  const weights = STARTER.reference.replace('-GGUF/', '-GGUF@0123456/')
  expect(starterModel({ models: [{ weights } as RunnableWeights] }, 'forebay').engine).toEqual({ weights })
  expect(starterModel({ models: [] }, 'forebay').engine).toEqual({ weights: STARTER.reference })
})

it("the author's prefix means raw weights, so the quantized starter has the operator's (SPEC 2.3)", () => {
  expect(starterModel({ models: [] }, 'acme')).toMatchObject({ id: 'acme/smollm2-135m-instruct', optimized: true })
})

it('the starter model is offered if there are no models and one can be added', () => {
  expect(offersStarter([], { writable: true })).toBe(true)
  expect(offersStarter([], { writable: false }), 'the catalogue is the file').toBe(false)
  expect(offersStarter([{} as OperatorModel], { writable: true })).toBe(false)
  expect([offersStarter(undefined, { writable: true }), offersStarter([], undefined)]).toEqual([false, false])
})
