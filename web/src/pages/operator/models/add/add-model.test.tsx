// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { fakeApi, invalid, renderInConsole } from '../../../../testing'
import { EMPTY_UPSTREAM } from '../fields'
import { ConnectServer } from './ConnectServer'
import { NewModelForm } from './NewModelForm'
import { RunHere } from './RunHere'

vi.mock('@tanstack/react-router', () => ({ useRouter: () => ({ history: { push: () => {} } }) }))

const expectInvalid = (field: HTMLElement) => waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'))
const addModel = () => userEvent.click(screen.getByRole('button', { name: 'Add model' }))

it('reports an invalid address of a server at its field', async () => {
  fakeApi(() => invalid('url'))
  renderInConsole(<ConnectServer canStoreKeys />)
  const address = screen.getByRole('textbox', { name: 'Address' })
  await userEvent.type(address, 'ftp://nowhere')
  await userEvent.click(screen.getByRole('button', { name: 'Connect' }))
  await expectInvalid(address)
})

it('adds several models of a server, and says which could not be added', async () => {
  const sent: unknown[] = []
  fakeApi(({ method, path, body }) => {
    if (path.endsWith('/probe'))
      return { body: { url: 'http://a/v1', reachable: true, models: [{ id: 'a' }, { id: 'b' }], call: null } }
    if (method === 'GET') return { body: { data: [] } }
    sent.push(body)
    return sent.length === 1 ? { status: 409, body: { code: 'name_taken', error: 'it is taken' } } : { body: {} }
  })
  renderInConsole(<ConnectServer canStoreKeys />)
  await userEvent.type(screen.getByRole('textbox', { name: 'Address' }), 'http://a/v1')
  await userEvent.click(screen.getByRole('button', { name: 'Connect' }))
  await userEvent.click(await screen.findByText('Several models'))
  await userEvent.click(screen.getByRole('button', { name: 'All' }))
  await userEvent.click(screen.getByRole('button', { name: 'Add 2 models' }))
  await screen.findByText('it is taken')
  await screen.findByText('Added')
  await userEvent.type(screen.getByRole('textbox', { name: 'Model ID of a' }), '-2')
  await userEvent.click(screen.getByRole('button', { name: 'Add 1 model' }))
  await waitFor(() => expect(screen.getAllByText('Added')).toHaveLength(2))
  expect(sent.map((one) => (one as { id: string }).id)).toEqual(['local/a', 'local/b', 'local/a-2'])
})

it('reports invalid fields of a new model, and other errors below them', async () => {
  const fields = ['id', 'inputPer1m', 'upstreams[0].url', undefined]
  fakeApi(({ method }) => {
    if (method === 'GET') return { body: { operatorPrefix: 'forebay' } }
    const field = fields.shift()
    return field
      ? invalid(field, `not a valid ${field}`)
      : { status: 409, body: { code: 'name_taken', error: 'taken' } }
  })
  renderInConsole(<NewModelForm title="New" found={{ id: 'no slash', upstreams: [{ ...EMPTY_UPSTREAM, url: 'x' }] }} />)
  await addModel()
  await expectInvalid(screen.getByRole('textbox', { name: 'Model ID' }))
  await screen.findByText(/forebay\/ marks an optimized build/) // SPEC 2.3
  await addModel()
  await expectInvalid(screen.getByRole('textbox', { name: 'Input price' }))
  expect(screen.queryByRole('alert')).toBeNull()
  await addModel()
  expect((await screen.findByRole('alert')).textContent).toContain('not a valid upstreams[0].url')
  await addModel()
  await screen.findByText('name_taken')
})

it('reports errors of weights at the number of engines', async () => {
  fakeApi(() => invalid('engine.weights'))
  const engine = { weights: 'hf://a/b', replicas: 1, parallel: undefined, args: '' }
  renderInConsole(<NewModelForm title="New" found={{ id: 'a/b', engine }} />)
  await addModel()
  await expectInvalid(screen.getByLabelText('Engines'))
})

it('reports a model that the hub does not have at its field', async () => {
  fakeApi(({ path }) => {
    if (path.endsWith('/lookup')) return invalid('reference', 'the hub has no such model')
    if (path.endsWith('/downloads')) return { body: { data: [] } }
    return { body: { nodeId: 'n', files: [], modelsFolder: '/srv', machine: { gpus: [] } } }
  })
  renderInConsole(<RunHere />)
  const model = screen.getByRole('combobox', { name: 'Model' })
  await userEvent.type(model, 'hf://acme/none')
  await userEvent.click(screen.getByRole('button', { name: 'Look up' }))
  await expectInvalid(model)
  await screen.findByText('the hub has no such model')
})

it('offers the recipe of a known family', async () => {
  let sent: unknown
  fakeApi(({ method, body }) => {
    if (method === 'GET') return { body: { operatorPrefix: 'forebay' } }
    sent = body
    return { body: { id: 'qwen/qwen3-8b' } }
  })
  const server = { ...EMPTY_UPSTREAM, url: 'http://a/v1', model: 'Qwen/Qwen3-8B', engine: 'vllm' }
  renderInConsole(
    <NewModelForm title="New" found={{ id: 'qwen/qwen3-8b', upstreams: [server] }} serverVersion="0.8.5" />,
  )
  const recipe = screen.getByRole('note')
  expect(recipe.textContent).toContain('--tool-call-parser hermes --reasoning-parser qwen3')
  expect(recipe.textContent).toContain('This server is vLLM 0.8.5')
  await userEvent.click(screen.getByRole('button', { name: 'Use the recipe' }))
  expect(screen.queryByRole('button', { name: 'Use the recipe' })).toBeNull()
  await addModel()
  await waitFor(() => expect(sent).toMatchObject({ thinking: 'enable_thinking', contextLength: 40_960 }))
})
