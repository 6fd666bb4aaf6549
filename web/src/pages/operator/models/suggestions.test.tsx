// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { fakeApi, renderInConsole } from '../../../testing'
import { NewModelForm } from './add/NewModelForm'
import { EMPTY_FLAVOR } from './flavors/flavor-fields'
import { contextOf, precisionOf, suggested } from './suggestions'

vi.mock('@tanstack/react-router', () => ({ useRouter: () => ({ history: { push: () => {} } }) }))

it('reads the precision from names', () => {
  const names = [
    'tiny.Q4_K_M.gguf',
    '/srv/qwen3-8b-IQ2_XXS-00001-of-00002.gguf',
    'hf://Qwen/Qwen3-8B-FP8',
    'hf://a/q3b',
  ]
  expect(names.map(precisionOf)).toEqual(['q4_k_m', 'iq2_xxs', 'fp8', ''])
})

it('suggests the trained context, unless an engine allocates memory for all of it', () => {
  const lookup = { gated: false, models: [], contextLength: 40_960 }
  expect(['vllm', 'forebay-engine'].map((engine) => contextOf(lookup, engine))).toEqual([40_960, 8_192])
  expect(contextOf({ ...lookup, contextLength: null }, 'vllm')).toBeUndefined()
})

it('replaces what was suggested, not what was typed', () => {
  const before = { count: 1, precision: '' }
  expect(suggested({ count: 2, precision: 'fp8' }, before, { count: 4, precision: '' })).toEqual({ precision: 'fp8' })
  expect(suggested({ count: 2 }, { ...before, count: 4 }, { count: 4, precision: '' })).toEqual({ count: 2 })
})

it('fills context, precision and GPUs of a new flavor from its weights', async () => {
  fakeApi(({ path }) => {
    if (path.endsWith('/weights/lookup'))
      return { body: { contextLength: 40_960, gated: false, models: [{ name: 'tiny.Q8_0.gguf' }] } }
    if (path.endsWith('/flavors/fit')) return { body: { fits: true, replicas: 1, freeReplicas: 1, fewestGpus: 2 } }
    return { body: { data: [] } }
  })
  renderInConsole(<NewModelForm title="New" found={{ id: '', flavors: [EMPTY_FLAVOR] }} />)
  const field = (role: string, name: string) => screen.getByRole<HTMLInputElement>(role, { name })
  const precision = field('textbox', 'Precision')
  const gpus = field('textbox', 'GPUs per replica')
  const paste = async (into: HTMLInputElement, text: string) => {
    await userEvent.click(into)
    await userEvent.paste(text)
  }
  const weights = field('textbox', 'Weights of the flavor')
  await paste(weights, 'hf://acme/tiny')
  await waitFor(() => expect(precision.value).toBe('q8_0'))
  expect(field('textbox', 'Context length').value).toBe('8,192')
  await paste(precision, '-mixed')
  await paste(field('combobox', 'GPU type'), 'nvidia/h100')
  await waitFor(() => expect(gpus.value).toBe('2'))
  expect(field('textbox', 'Flavor name').value).toBe('h100-2x')
  expect(precision.value, 'what was typed stays').toBe('q8_0-mixed')
})
