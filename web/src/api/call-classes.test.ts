import { expect, it } from 'vitest'
import { CALL_CLASS_OPTIONS, classLabel } from './call-classes'

it('names classes, also those of later versions', () => {
  expect(['batch', 'later'].map(classLabel)).toEqual(['Batch', 'later'])
  expect(CALL_CLASS_OPTIONS.map(({ label }) => label)).toEqual(['Interactive', 'Flex', 'Batch'])
})
