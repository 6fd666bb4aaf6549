import { notifications } from '@mantine/notifications'
import { expect, it, vi } from 'vitest'
import { everyPage } from './pages'

it('fetches page after page until there is no next cursor', async () => {
  const fetchPage = vi
    .fn()
    .mockResolvedValueOnce({ data: [1, 2], nextCursor: 'two' })
    .mockResolvedValueOnce({ data: [3], nextCursor: null })
  expect(await everyPage(fetchPage)).toEqual([1, 2, 3])
  expect(fetchPage.mock.calls.map(([query]) => query.cursor)).toEqual([undefined, 'two'])
})

it('stops after the maximum number of pages, and says so', async () => {
  const shown = vi.spyOn(notifications, 'show')
  const fetchPage = vi.fn().mockResolvedValue({ data: [1], nextCursor: 'again' })
  expect(await everyPage(fetchPage)).toHaveLength(50)
  expect(shown).toHaveBeenCalledOnce()
  shown.mockRestore()
})
