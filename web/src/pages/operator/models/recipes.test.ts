import { describe, expect, it } from 'vitest'
import { EMPTY_DETAILS } from './fields'
import { EMPTY_FLAVOR } from './flavors/flavor-fields'
import { detailsChange, flavorChange, optionsOf, type Recipe, recipeOf } from './recipes'

const recipe = (name: string): Recipe => {
  const found = recipeOf(name)
  if (!found) throw new Error(name)
  return found
}

describe('recipes', () => {
  it.each([
    ['Qwen/Qwen3-8B', 'Qwen3'],
    ['qwen3moe', 'Qwen3'],
    ['Qwen3ForCausalLM', 'Qwen3'],
    ['Qwen/Qwen3-Coder-30B-A3B-Instruct', 'Qwen3-Coder'],
    ['deepseek-ai/DeepSeek-V3.1', 'DeepSeek-V3.1'],
    ['openai/gpt-oss-20b', 'gpt-oss'],
    ['/srv/models/llama-3.1-8b', 'Llama 3'],
    ['zai-org/GLM-4.6', 'GLM-4.5'],
    ['HuggingFaceTB/SmolLM2-135M-Instruct', undefined],
    ['Qwen/Qwen3.5-9B', undefined],
  ])('know %s', (name, family) => expect(recipeOf(undefined, null, '', name)?.family).toBe(family))

  it('name the parsers of the engine', () => {
    expect(optionsOf(recipe('qwen3'), 'vllm')).toBe(
      '--enable-auto-tool-choice --tool-call-parser hermes --reasoning-parser qwen3',
    )
    expect(optionsOf(recipe('qwen3'), 'sglang')).toBe('--tool-call-parser qwen --reasoning-parser qwen3')
    expect(optionsOf(recipe('qwen3'), 'llama-server')).toBe('')
    expect(optionsOf(recipe('granite-3.2'), 'sglang')).toBe('')
  })

  it('fill in what is empty only', () => {
    const flavor = { ...EMPTY_FLAVOR, engine: 'vllm', toolParser: 'own' }
    expect(flavorChange(recipe('qwen3'), flavor)).toEqual({ reasoningParser: 'qwen3' })
    expect(flavorChange(recipe('qwen3'), EMPTY_FLAVOR)).toEqual({})
    expect(detailsChange(recipe('qwen3'), { ...EMPTY_DETAILS, contextLength: 8_192 })).toEqual({
      thinking: 'enable_thinking',
    })
    expect(detailsChange(recipe('deepseek-v3.1'), { ...EMPTY_DETAILS, thinking: 'none' })).toEqual({
      contextLength: 131_072,
    })
  })
})
