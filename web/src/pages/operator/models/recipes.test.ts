import { describe, expect, it } from 'vitest'
import { EMPTY_DETAILS } from './fields'
import { EMPTY_FLAVOR } from './flavors/flavor-fields'
import { detailsChange, flavorChange, optionsOf, type Recipe, recipeOf, versionNote } from './recipes'

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
    ['Qwen/Qwen3-30B-A3B-Instruct-2507', 'Qwen3 Instruct'],
    ['Qwen/Qwen3-Next-80B-A3B-Instruct', 'Qwen3 Instruct'],
    ['Qwen/Qwen3-VL-8B-Instruct', 'Qwen3 Instruct'],
    ['Qwen/Qwen3-30B-A3B-Thinking-2507', 'Qwen3 Thinking'],
    ['moonshotai/Kimi-K2-Instruct-0905', 'Kimi K2 Instruct'],
    ['moonshotai/Kimi-K2-Thinking', 'Kimi K2'],
    ['Qwen/Qwen3-Coder-30B-A3B-Instruct', 'Qwen3-Coder'],
    ['deepseek-ai/DeepSeek-V3.1', 'DeepSeek-V3.1'],
    ['openai/gpt-oss-20b', 'gpt-oss'],
    ['/srv/models/llama-3.1-8b', 'Llama 3'],
    ['zai-org/GLM-4.6', 'GLM-4.5'],
    ['HuggingFaceTB/SmolLM2-135M-Instruct', undefined],
    ['Qwen/Qwen3.5-9B', undefined],
  ])('know %s', (name, family) => expect(recipeOf(undefined, null, '', name)?.family).toBe(family))

  it('follow the name rather than the architecture', () => {
    expect(recipeOf('deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', 'Qwen2ForCausalLM')?.family).toBe('DeepSeek-R1')
    expect(recipeOf('acme/assistant', 'qwen3moe')?.family).toBe('Qwen3')
  })

  it.each([
    ['0.10.2', 'This server is vLLM 0.10.2, which does not have them: they exist since 0.11.1.'],
    ['0.11', 'This server is vLLM 0.11, which does not have them: they exist since 0.11.1.'],
    ['0.11.1rc2', 'vLLM 0.11.1 or newer has them.'],
    ['0.32.0+cpu', 'vLLM 0.11.1 or newer has them.'],
    ['1.0', 'vLLM 0.11.1 or newer has them.'],
    ['dev', 'vLLM 0.11.1 or newer has them.'],
    [undefined, 'vLLM 0.11.1 or newer has them.'],
  ])('say whether version %s has their parsers', (version, note) =>
    expect(versionNote(recipe('kimi-k2'), 'vllm', version)).toBe(note),
  )

  it('say nothing of versions for engines without parsers', () => {
    expect(versionNote(recipe('seed-oss'), 'sglang', '0.5.3')).toBeUndefined()
    expect(versionNote(recipe('qwen3'), 'llama-server', 'b1')).toBeUndefined()
  })

  it('name the parsers of the engine', () => {
    expect(optionsOf(recipe('qwen3'), 'vllm')).toBe(
      '--enable-auto-tool-choice --tool-call-parser hermes --reasoning-parser qwen3',
    )
    expect(optionsOf(recipe('qwen3'), 'sglang')).toBe('--tool-call-parser qwen --reasoning-parser qwen3')
    expect(optionsOf(recipe('qwen3'), 'llama-server')).toBe('')
    expect(optionsOf(recipe('granite-3.2'), 'sglang')).toBe('')
  })

  it('name what an older version has', () => {
    const coder = recipe('Qwen3-Coder-30B')
    expect(optionsOf(coder, 'vllm', '0.32.0')).toBe('--enable-auto-tool-choice --tool-call-parser qwen3_xml')
    expect(optionsOf(coder, 'vllm', '0.10.2')).toBe('--enable-auto-tool-choice --tool-call-parser qwen3_coder')
    expect(versionNote(coder, 'vllm', '0.10.2')).toBe('vLLM 0.10 or newer has them.')
    expect(versionNote(coder, 'vllm', '0.9.2')).toContain('they exist since 0.10.')
  })

  it('name no reasoning parser for models that never think', () => {
    expect(optionsOf(recipe('Qwen3-4B-Instruct-2507'), 'vllm')).toBe(
      '--enable-auto-tool-choice --tool-call-parser hermes',
    )
    expect(optionsOf(recipe('Kimi-K2-Instruct'), 'sglang')).toBe('--tool-call-parser kimi_k2')
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
