// One streamed call of the AI SDK, through the API that is named. Prints its text, or why it failed.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'

const { BASE_URL: baseURL, API_KEY: apiKey, MODEL, API } = process.env
const models = {
  chat: () => createOpenAI({ baseURL, apiKey }).chat(MODEL),
  responses: () => createOpenAI({ baseURL, apiKey }).responses(MODEL),
  messages: () => createAnthropic({ baseURL, apiKey })(MODEL),
}
let failure
const onError = ({ error }) => (failure = error)
const result = streamText({ model: models[API](), prompt: 'Say hello', maxRetries: 0, onError })
try {
  console.log(JSON.stringify({ text: await result.text }))
} catch (error) {
  console.log(JSON.stringify({ status: failure?.statusCode, error: String(failure ?? error) }))
}
