import { expect, test } from 'vitest'
import { libraryOf, type Model } from './models'

const record = (id: string, alias_of?: string) => ({ id, alias_of }) as Model

test('aliases are shown with their model and not beside it', () => {
  const records = [record('acme/a'), record('acme/b'), record('claude', 'acme/a'), record('gpt', 'acme/a')]
  const { models, aliases } = libraryOf(records)
  expect(models.map(({ id }) => id)).toEqual(['acme/a', 'acme/b'])
  expect([...aliases]).toEqual([['acme/a', ['claude', 'gpt']]])
})
