/** Settings that common families of models need, by their name or architecture. */

import type { DetailFields } from './fields'
import type { FlavorFields } from './flavors/flavor-fields'

type Parsers = { tools?: string; reasoning?: string }

export type Recipe = {
  family: string
  /** In names of models (`Qwen/Qwen3-8B`) and architectures (`qwen3moe`, `Qwen3ForCausalLM`). */
  pattern: RegExp
  vllm: Parsers
  sglang: Parsers
  /** The member that turns thinking on and off, where the family can. */
  thinking?: string
  contextLength: number
}

const HERMES = { vllm: { tools: 'hermes' }, sglang: { tools: 'qwen' } }

/** More special families come first. Names are those of vLLM 0.32 and SGLang 0.5. */
export const RECIPES: Recipe[] = [
  {
    family: 'Qwen3-Coder',
    pattern: /qwen3-?coder/,
    vllm: { tools: 'qwen3_xml' },
    sglang: { tools: 'qwen3_coder' },
    thinking: 'none',
    contextLength: 262_144,
  },
  {
    family: 'Qwen3',
    pattern: /qwen-?3(?!\.)/,
    vllm: { tools: 'hermes', reasoning: 'qwen3' },
    sglang: { tools: 'qwen', reasoning: 'qwen3' },
    thinking: 'enable_thinking',
    contextLength: 40_960,
  },
  {
    family: 'QwQ',
    pattern: /qwq/,
    vllm: { tools: 'hermes', reasoning: 'deepseek_r1' },
    sglang: { tools: 'qwen', reasoning: 'deepseek-r1' },
    thinking: 'none',
    contextLength: 40_960,
  },
  { family: 'Qwen2.5', pattern: /qwen-?2/, ...HERMES, thinking: 'none', contextLength: 32_768 },
  {
    family: 'DeepSeek-V3.1',
    pattern: /deepseek-?v3\.1/,
    vllm: { tools: 'deepseek_v31', reasoning: 'deepseek_v3' },
    sglang: { tools: 'deepseekv31', reasoning: 'deepseek-v3' },
    thinking: 'thinking',
    contextLength: 131_072,
  },
  {
    family: 'DeepSeek-R1',
    pattern: /deepseek-?r1/,
    vllm: { tools: 'deepseek_v3', reasoning: 'deepseek_r1' },
    sglang: { tools: 'deepseekv3', reasoning: 'deepseek-r1' },
    thinking: 'none',
    contextLength: 131_072,
  },
  {
    family: 'gpt-oss',
    pattern: /gpt-?oss/,
    vllm: { tools: 'openai', reasoning: 'openai_gptoss' },
    sglang: { tools: 'gpt-oss', reasoning: 'gpt-oss' },
    thinking: 'reasoning_effort',
    contextLength: 131_072,
  },
  {
    family: 'GLM-4.7',
    pattern: /glm-?4\.7/,
    vllm: { tools: 'glm47', reasoning: 'glm47' },
    sglang: { tools: 'glm47', reasoning: 'glm45' },
    thinking: 'enable_thinking',
    contextLength: 202_752,
  },
  {
    family: 'GLM-4.5',
    pattern: /glm-?4\.[56]|glm4-?moe/,
    vllm: { tools: 'glm45', reasoning: 'glm45' },
    sglang: { tools: 'glm45', reasoning: 'glm45' },
    thinking: 'enable_thinking',
    contextLength: 131_072,
  },
  {
    family: 'Kimi K2',
    pattern: /kimi-?k2/,
    vllm: { tools: 'kimi_k2', reasoning: 'kimi_k2' },
    sglang: { tools: 'kimi_k2', reasoning: 'kimi_k2' },
    thinking: 'none',
    contextLength: 262_144,
  },
  {
    family: 'MiniMax-M2',
    pattern: /minimax-?m2/,
    vllm: { tools: 'minimax_m2', reasoning: 'minimax_m2_append_think' },
    sglang: { tools: 'minimax-m2', reasoning: 'minimax-append-think' },
    thinking: 'none',
    contextLength: 196_608,
  },
  {
    family: 'Seed-OSS',
    pattern: /seed-?oss/,
    vllm: { tools: 'seed_oss', reasoning: 'seed_oss' },
    sglang: {},
    thinking: 'thinking_budget',
    contextLength: 524_288,
  },
  {
    family: 'Granite 3',
    pattern: /granite-?3/,
    vllm: { tools: 'granite', reasoning: 'granite' },
    sglang: {},
    thinking: 'thinking',
    contextLength: 131_072,
  },
  {
    family: 'Llama 4',
    pattern: /llama-?4/,
    vllm: { tools: 'llama4_pythonic' },
    sglang: { tools: 'pythonic' },
    thinking: 'none',
    contextLength: 1_048_576,
  },
  {
    family: 'Llama 3',
    pattern: /llama-?3/,
    vllm: { tools: 'llama3_json' },
    sglang: { tools: 'llama3' },
    thinking: 'none',
    contextLength: 131_072,
  },
  {
    family: 'Mistral',
    pattern: /mistral|ministral|devstral/,
    vllm: { tools: 'mistral' },
    sglang: { tools: 'mistral' },
    thinking: 'none',
    contextLength: 131_072,
  },
]

/** The recipe of a model with one of these names. */
export function recipeOf(...names: (string | null | undefined)[]): Recipe | undefined {
  const known = names.filter((name) => name).map((name) => String(name).toLowerCase())
  return RECIPES.find(({ pattern }) => known.some((name) => pattern.test(name)))
}

const parsersOf = (recipe: Recipe, engine: string): Parsers =>
  engine === 'vllm' ? recipe.vllm : engine === 'sglang' ? recipe.sglang : {}

/** The options that a server of this engine should run with, as on its command line; empty if there are none. */
export function optionsOf(recipe: Recipe, engine: string): string {
  const { tools, reasoning } = parsersOf(recipe, engine)
  const options = [
    ...(tools && engine === 'vllm' ? ['--enable-auto-tool-choice'] : []),
    ...(tools ? [`--tool-call-parser ${tools}`] : []),
    ...(reasoning ? [`--reasoning-parser ${reasoning}`] : []),
  ]
  return options.join(' ')
}

/** What the recipe changes in a flavor. What was typed stays. */
export function flavorChange(recipe: Recipe, fields: FlavorFields): Partial<FlavorFields> {
  const { tools, reasoning } = parsersOf(recipe, fields.engine)
  return {
    ...(tools && !fields.toolParser.trim() ? { toolParser: tools } : {}),
    ...(reasoning && !fields.reasoningParser.trim() ? { reasoningParser: reasoning } : {}),
  }
}

/** What the recipe changes in a model. What was typed or reported by a server stays. */
export function detailsChange(recipe: Recipe, fields: DetailFields): Partial<DetailFields> {
  return {
    ...(recipe.thinking && !fields.thinking ? { thinking: recipe.thinking } : {}),
    ...(fields.contextLength === undefined ? { contextLength: recipe.contextLength } : {}),
  }
}
