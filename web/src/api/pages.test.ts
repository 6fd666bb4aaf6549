import { expect, it, vi } from 'vitest'
import { everyPage } from './pages'

it('asks for one piece after another until there is no more', async () => {
  const askFor = vi
    .fn()
    .mockResolvedValueOnce({ data: [1, 2], nextCursor: 'two' })
    .mockResolvedValueOnce({ data: [3], nextCursor: null })
  expect(await everyPage(askFor)).toEqual([1, 2, 3])
  expect(askFor.mock.calls.map(([query]) => query.cursor)).toEqual([undefined, 'two'])
})

it('ends, whatever is answered', async () => {
  const askFor = vi.fn().mockResolvedValue({ data: [1], nextCursor: 'again' })
  expect(await everyPage(askFor)).toHaveLength(50)
})
