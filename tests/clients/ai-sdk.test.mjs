// Tests the AI SDK with the providers of OpenAI (Responses) and Anthropic (Messages). Started by scripts/test-clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'

const { FOREBAY_BASE_URL: baseURL, FOREBAY_API_KEY: apiKey, AGENT_ENGINE_URL: engineURL } = process.env
const openai = createOpenAI({ baseURL, apiKey })
const anthropic = createAnthropic({ baseURL, apiKey })

// Without it, tool loops refer to stored items, which there are none of.
const providerOptions = { openai: { store: false } }
const DONE = 'The file is written.'
const prompt = 'WRITE THE FILE /note.txt'

async function run(generate, model) {
  await fetch(`${engineURL}/reset`, { method: 'POST', body: '[]' })
  const files = {}
  const write_file = tool({
    description: 'Writes a file',
    inputSchema: z.object({ path: z.string(), content: z.string() }),
    execute: async ({ path, content }) => {
      files[path] = content
      return 'written'
    },
  })
  const result = generate({ model, prompt, tools: { write_file }, stopWhen: isStepCount(5), maxRetries: 0, providerOptions })
  const { text, totalUsage } = await collect(await result)
  assert.equal(text, DONE)
  assert.deepEqual(files, { '/note.txt': 'written by the agent\n' })
  const state = await (await fetch(`${engineURL}/state`)).json()
  assert.equal(state.requests, 2)
  assert.deepEqual([totalUsage.inputTokens, totalUsage.outputTokens], [state.prompt, state.completion])
}

async function collect(result) {
  return { text: await result.text, totalUsage: await result.totalUsage }
}

const models = [
  ['Responses', openai.responses('acme/agent')],
  ['Messages', anthropic('claude-forebay')],
  ['chat', openai.chat('acme/agent')],
]
for (const [api, model] of models) {
  test(`a tool loop through ${api}`, () => run(generateText, model))
  test(`a streamed tool loop through ${api}`, () => run(streamText, model))
}

test('a tool loop with references says how to turn them off', async () => {
  const tools = { write_file: tool({ inputSchema: z.object({ path: z.string(), content: z.string() }), execute: async () => 'written' }) }
  const call = generateText({ model: openai.responses('acme/agent'), prompt, tools, stopWhen: isStepCount(5), maxRetries: 0 })
  await assert.rejects(call, /providerOptions\.openai\.store = false/)
})
