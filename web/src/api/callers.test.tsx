// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { fakeApi, renderInConsole } from '../testing'
import { useCallers } from './callers'

function Names({ ids }: { ids: string[] }) {
  const { nameOf } = useCallers('ws_1', 'org_1')
  return <p>{ids.map(nameOf).join(', ')}</p>
}

it('loads the names of keys that are not among the last used ones, each once', async () => {
  const calls = fakeApi(({ path }) => {
    if (path.endsWith('/keys')) return { body: { data: [{ id: 'key_listed', name: 'backend' }] } }
    if (path.endsWith('/members')) return { body: { data: [{ userId: 'user_1', email: 'ada@example.com' }] } }
    if (path.endsWith('/key_other')) return { body: { id: 'key_other', name: 'one of many' } }
    return { status: 404, body: { error: 'no such key', code: 'not_found' } }
  })
  renderInConsole(<Names ids={['key_listed', 'user_1', 'key_other', 'key_other', 'key_gone']} />)
  await screen.findByText('backend, ada@example.com, one of many, one of many, key_gone')
  expect(calls.filter(({ path }) => path.endsWith('/key_other'))).toHaveLength(1)
})
