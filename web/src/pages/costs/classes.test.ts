import { expect, it } from 'vitest'
import { classesText } from './classes'

it('names what flex calls and batches cost, if there were any', () => {
  expect(classesText({ flexUsd: '0', batchUsd: '0.00' })).toBeUndefined()
  expect(classesText({ flexUsd: '1.2', batchUsd: '0.001' })).toBe('including $1.20 flex, < $0.01 batches')
})
