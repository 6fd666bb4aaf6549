/** Settings that common families of models need, by their name or architecture. */

import type { DetailFields } from './fields'
import type { FlavorFields } from './flavors/flavor-fields'

/** `since` is the first version of the engine that has them. */
type Parsers = { tools?: string; reasoning?: string; since?: string }

export type Recipe = {
  family: string
  /** In names of models (`Qwen/Qwen3-8B`) and architectures (`qwen3moe`, `Qwen3ForCausalLM`). */
  pattern: RegExp
  vllm: Parsers
  /** What vLLM had before. */
  olderVllm?: Parsers
  sglang: Parsers
  /** The member that turns thinking on and off, where the family can. */
  thinking?: string
  contextLength: number
}

/**
 * More special families come first: models that never think have no reasoning parser, which would take their text for
 * thoughts. Names are those of vLLM 0.32 and SGLang 0.5; tests/engines/run.py asks vLLM for its own.
 */
export const RECIPES: Recipe[] = [
  {
    family: 'Qwen3-Coder',
    pattern: /qwen3-?coder/,
    vllm: { tools: 'qwen3_xml', since: '0.11' },
    olderVllm: { tools: 'qwen3_coder', since: '0.10' },
    sglang: { tools: 'qwen3_coder', since: '0.4.10' },
    thinking: 'none',
    contextLength: 262_144,
  },
  {
    family: 'Qwen3 Instruct',
    pattern: /qwen-?3(?!\.).*instruct/,
    vllm: { tools: 'hermes', since: '0.6.3' },
    sglang: { tools: 'qwen', since: '0.5.4' },
    thinking: 'none',
    contextLength: 262_144,
  },
  {
    family: 'Qwen3 Thinking',
    pattern: /qwen-?3(?!\.).*thinking/,
    vllm: { tools: 'hermes', reasoning: 'deepseek_r1', since: '0.7.1' },
    sglang: { tools: 'qwen', reasoning: 'deepseek-r1', since: '0.5.4' },
    thinking: 'none',
    contextLength: 262_144,
  },
  {
    family: 'Qwen3',
    pattern: /qwen-?3(?!\.)/,
    vllm: { tools: 'hermes', reasoning: 'qwen3', since: '0.9' },
    sglang: { tools: 'qwen', reasoning: 'qwen3', since: '0.5.4' },
    thinking: 'enable_thinking',
    contextLength: 40_960,
  },
  {
    family: 'QwQ',
    pattern: /qwq/,
    vllm: { tools: 'hermes', reasoning: 'deepseek_r1', since: '0.7.1' },
    sglang: { tools: 'qwen', reasoning: 'deepseek-r1', since: '0.5.4' },
    thinking: 'none',
    contextLength: 40_960,
  },
  {
    family: 'Qwen2.5',
    pattern: /qwen-?2/,
    vllm: { tools: 'hermes', since: '0.6.3' },
    sglang: { tools: 'qwen', since: '0.5.4' },
    thinking: 'none',
    contextLength: 32_768,
  },
  {
    family: 'DeepSeek-V3.1',
    pattern: /deepseek-?v3\.1/,
    vllm: { tools: 'deepseek_v31', reasoning: 'deepseek_v3', since: '0.11.1' },
    olderVllm: { tools: 'deepseek_v31', since: '0.10.2' },
    sglang: { tools: 'deepseekv31', reasoning: 'deepseek-v3', since: '0.5.2' },
    thinking: 'thinking',
    contextLength: 131_072,
  },
  {
    family: 'DeepSeek-R1',
    pattern: /deepseek-?r1/,
    vllm: { tools: 'deepseek_v3', reasoning: 'deepseek_r1', since: '0.9' },
    sglang: { tools: 'deepseekv3', reasoning: 'deepseek-r1', since: '0.4.6' },
    thinking: 'none',
    contextLength: 131_072,
  },
  {
    family: 'gpt-oss',
    pattern: /gpt-?oss/,
    vllm: { tools: 'openai', reasoning: 'openai_gptoss', since: '0.10.2' },
    sglang: { tools: 'gpt-oss', reasoning: 'gpt-oss', since: '0.5.1' },
    thinking: 'reasoning_effort',
    contextLength: 131_072,
  },
  {
    family: 'GLM-4.7',
    pattern: /glm-?4\.7/,
    vllm: { tools: 'glm47', reasoning: 'glm47', since: '0.24' },
    sglang: { tools: 'glm47', reasoning: 'glm45', since: '0.5.7' },
    thinking: 'enable_thinking',
    contextLength: 202_752,
  },
  {
    family: 'GLM-4.5',
    pattern: /glm-?4\.[56]|glm4-?moe/,
    vllm: { tools: 'glm45', reasoning: 'glm45', since: '0.10.1' },
    olderVllm: { tools: 'glm4_moe', reasoning: 'glm4_moe', since: '0.10' },
    sglang: { tools: 'glm45', reasoning: 'glm45', since: '0.4.10' },
    thinking: 'enable_thinking',
    contextLength: 131_072,
  },
  {
    family: 'Kimi K2 Instruct',
    pattern: /kimi-?k2.*instruct/,
    vllm: { tools: 'kimi_k2', since: '0.10' },
    sglang: { tools: 'kimi_k2', since: '0.4.10' },
    thinking: 'none',
    contextLength: 131_072,
  },
  {
    family: 'Kimi K2',
    pattern: /kimi-?k2/,
    vllm: { tools: 'kimi_k2', reasoning: 'kimi_k2', since: '0.11.1' },
    sglang: { tools: 'kimi_k2', reasoning: 'kimi_k2', since: '0.5.5' },
    thinking: 'none',
    contextLength: 262_144,
  },
  {
    family: 'MiniMax-M2',
    pattern: /minimax-?m2/,
    vllm: { tools: 'minimax_m2', reasoning: 'minimax_m2', since: '0.11.1' },
    sglang: { tools: 'minimax-m2', reasoning: 'minimax', since: '0.5.5' },
    thinking: 'none',
    contextLength: 196_608,
  },
  {
    family: 'Seed-OSS',
    pattern: /seed-?oss/,
    vllm: { tools: 'seed_oss', reasoning: 'seed_oss', since: '0.11' },
    sglang: {},
    thinking: 'thinking_budget',
    contextLength: 524_288,
  },
  {
    family: 'Granite 3',
    pattern: /granite-?3/,
    vllm: { tools: 'granite', reasoning: 'granite', since: '0.8.3' },
    sglang: {},
    thinking: 'thinking',
    contextLength: 131_072,
  },
  {
    family: 'Llama 4',
    pattern: /llama-?4/,
    vllm: { tools: 'llama4_pythonic', since: '0.9' },
    sglang: { tools: 'pythonic', since: '0.4.7' },
    thinking: 'none',
    contextLength: 1_048_576,
  },
  {
    family: 'Llama 3',
    pattern: /llama-?3/,
    vllm: { tools: 'llama3_json', since: '0.6.3' },
    sglang: { tools: 'llama3', since: '0.4.2' },
    thinking: 'none',
    contextLength: 131_072,
  },
  {
    family: 'Mistral',
    pattern: /mistral|ministral|devstral/,
    vllm: { tools: 'mistral', since: '0.6.3' },
    sglang: { tools: 'mistral', since: '0.4.2' },
    thinking: 'none',
    contextLength: 131_072,
  },
]

/** The recipe of a model with these names, of which the first known one counts: an architecture says less than a name. */
export function recipeOf(...names: (string | null | undefined)[]): Recipe | undefined {
  const recipes = names.map((name) => RECIPES.find(({ pattern }) => name && pattern.test(name.toLowerCase())))
  return recipes.find((recipe) => recipe)
}

function parsersOf({ vllm, olderVllm, sglang }: Recipe, engine: string, version?: string | null): Parsers {
  if (engine !== 'vllm') return engine === 'sglang' ? sglang : {}
  return olderVllm && version && vllm.since && isOlder(version, vllm.since) ? olderVllm : vllm
}

/** The options that a server of this engine should run with, as on its command line; empty if there are none. */
export function optionsOf(recipe: Recipe, engine: string, version?: string | null): string {
  const { tools, reasoning } = parsersOf(recipe, engine, version)
  const options = [
    ...(tools && engine === 'vllm' ? ['--enable-auto-tool-choice'] : []),
    ...(tools ? [`--tool-call-parser ${tools}`] : []),
    ...(reasoning ? [`--reasoning-parser ${reasoning}`] : []),
  ]
  return options.join(' ')
}

/** Which versions of the engine have the recipe's parsers, and whether a server of this version does. */
export function versionNote(recipe: Recipe, engine: string, version?: string | null): string | undefined {
  const { since } = parsersOf(recipe, engine, version)
  if (!since) return undefined
  const name = engine === 'vllm' ? 'vLLM' : 'SGLang'
  return version && isOlder(version, since)
    ? `This server is ${name} ${version}, which does not have them: they exist since ${since}.`
    : `${name} ${since} or newer has them.`
}

const isOlder = (version: string, since: string) => {
  const [parts, needed] = [version, since].map((text) => text.split('.', 3).map((part) => Number.parseInt(part, 10)))
  const at = needed?.findIndex((part, at) => part !== (parts?.[at] ?? 0)) ?? -1
  return at >= 0 && (parts?.[at] ?? 0) < (needed?.[at] ?? 0)
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
