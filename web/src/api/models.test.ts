import { expect, test } from 'vitest'
import { aliasesOf, type Model, withoutAliases } from './models'

const record = (id: string, alias_of?: string) => ({ id, alias_of }) as Model

test('aliases are shown with their model and not beside it', () => {
  const records = [record('acme/a'), record('acme/b'), record('claude', 'acme/a'), record('gpt', 'acme/a')]
  expect(withoutAliases(records).map(({ id }) => id)).toEqual(['acme/a', 'acme/b'])
  expect(aliasesOf(records, 'acme/a')).toEqual(['claude', 'gpt'])
  expect(aliasesOf(records, 'acme/b')).toEqual([])
})
