/** Code that calls a model, in languages and in tools, which works once FOREBAY_API_KEY is set. */

import { codeFor, firstCall, helloTo, RERANK_EXAMPLE, type Snippet } from './snippets'

export type Target = { baseUrl: string; model: string; modality: string }

const KEY_NOTE = 'Set FOREBAY_API_KEY to a key of this workspace.'
const NOTES = { curl: KEY_NOTE, python: `pip install openai. ${KEY_NOTE}`, node: `npm install openai. ${KEY_NOTE}` }

export const snippetsFor = (target: Target): Snippet[] =>
  target.modality === 'rerank'
    ? rerankSnippets(target)
    : [...languages(target), ...(target.modality === 'embedding' ? embeddingTools(target) : chatTools(target))]

/** The OpenAI SDKs cannot rerank; that of Cohere can. It adds `/v2` itself. */
const rerankSnippets = ({ baseUrl, model, modality }: Target): Snippet[] => [
  { id: 'curl', label: 'curl', code: firstCall(model, modality, baseUrl), note: NOTES.curl },
  {
    id: 'python',
    label: 'Python',
    note: `pip install cohere. ${KEY_NOTE}`,
    code: `import os
import cohere

client = cohere.ClientV2(base_url="${baseUrl.replace(/\/v1$/, '')}", api_key=os.environ["FOREBAY_API_KEY"])

response = client.rerank(
    model="${model}",
    query="${RERANK_EXAMPLE.query}",
    documents=${JSON.stringify(RERANK_EXAMPLE.documents).replace(',', ', ')},
)
print([(result.index, result.relevance_score) for result in response.results])`,
  },
]

/** Programs stream a chat; curl shows the whole response. */
function languages({ baseUrl, model, modality }: Target): Snippet[] {
  const [surface, request] = helloTo(model, modality)
  const streamed = surface === 'chat' ? { ...request, stream: true } : request
  return codeFor(surface, streamed, baseUrl).map((snippet) => ({
    ...snippet,
    ...(snippet.id === 'curl' ? { code: firstCall(model, modality, baseUrl) } : {}),
    note: NOTES[snippet.id],
  }))
}

const chatTools = ({ baseUrl, model }: Target): Snippet[] => [
  {
    id: 'langchain',
    label: 'LangChain',
    note: `pip install langchain-openai. ${KEY_NOTE}`,
    code: `import os
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(
    model="${model}",
    base_url="${baseUrl}",
    api_key=os.environ["FOREBAY_API_KEY"],
)
print(llm.invoke("Hello").content)`,
  },
  {
    id: 'ai-sdk',
    label: 'AI SDK',
    note: `npm install ai @ai-sdk/openai-compatible. ${KEY_NOTE}`,
    code: `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText } from 'ai'

const forebay = createOpenAICompatible({
  name: 'forebay',
  baseURL: '${baseUrl}',
  apiKey: process.env.FOREBAY_API_KEY,
})
const { text } = await generateText({ model: forebay('${model}'), prompt: 'Hello' })
console.log(text)`,
  },
  {
    id: 'litellm',
    label: 'LiteLLM',
    note: 'In the configuration file of the LiteLLM proxy.',
    code: `model_list:
  - model_name: ${model}
    litellm_params:
      model: openai/${model}
      api_base: ${baseUrl}
      api_key: os.environ/FOREBAY_API_KEY`,
  },
  {
    id: 'open-webui',
    label: 'Open WebUI',
    note: 'Then choose the model in its list.',
    code: `docker run -p 3000:8080 \\
  -e OPENAI_API_BASE_URL=${baseUrl} \\
  -e OPENAI_API_KEY="$FOREBAY_API_KEY" \\
  ghcr.io/open-webui/open-webui:main`,
  },
  {
    id: 'continue',
    label: 'Continue',
    note: 'In config.yaml of Continue, for VS Code and JetBrains.',
    code: `models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${baseUrl}
    apiKey: \${{ secrets.FOREBAY_API_KEY }}
    roles: [chat, edit]`,
  },
  {
    id: 'aider',
    label: 'aider',
    note: KEY_NOTE,
    code: `export OPENAI_API_BASE=${baseUrl}
export OPENAI_API_KEY="$FOREBAY_API_KEY"
aider --model openai/${model}`,
  },
]

const embeddingTools = ({ baseUrl, model }: Target): Snippet[] => [
  {
    id: 'langchain',
    label: 'LangChain',
    note: `pip install langchain-openai. ${KEY_NOTE}`,
    code: `import os
from langchain_openai import OpenAIEmbeddings

embeddings = OpenAIEmbeddings(
    model="${model}",
    base_url="${baseUrl}",
    api_key=os.environ["FOREBAY_API_KEY"],
    check_embedding_ctx_length=False,  # send text, not tokens of another model
)
print(len(embeddings.embed_query("water")))`,
  },
  {
    id: 'litellm',
    label: 'LiteLLM',
    note: 'In the configuration file of the LiteLLM proxy.',
    code: `model_list:
  - model_name: ${model}
    litellm_params:
      model: openai/${model}
      api_base: ${baseUrl}
      api_key: os.environ/FOREBAY_API_KEY
    model_info:
      mode: embedding`,
  },
]
