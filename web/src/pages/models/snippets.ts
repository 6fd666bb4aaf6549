/** Code snippets for a model, which work once FOREBAY_API_KEY is set. */

export type Target = { baseUrl: string; model: string; modality: string }
export type Snippet = {
  id: string
  label: string
  code: string /** Prerequisites, or where the code belongs. */
  note?: string
}

const KEY_NOTE = 'Set FOREBAY_API_KEY to a key of this workspace.'

const chat = ({ baseUrl, model }: Target): Snippet[] => [
  {
    id: 'curl',
    label: 'curl',
    note: KEY_NOTE,
    code: `curl ${baseUrl}/chat/completions \\
  -H "Authorization: Bearer $FOREBAY_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "Hello"}]
  }'`,
  },
  {
    id: 'python',
    label: 'Python',
    note: `pip install openai. ${KEY_NOTE}`,
    code: `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}", api_key=os.environ["FOREBAY_API_KEY"])

stream = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
  },
  {
    id: 'node',
    label: 'Node',
    note: `npm install openai. ${KEY_NOTE}`,
    code: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: process.env.FOREBAY_API_KEY })

const stream = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
})
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
}`,
  },
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
    note: 'Then filterModels the model in its list.',
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

const embedding = ({ baseUrl, model }: Target): Snippet[] => [
  {
    id: 'curl',
    label: 'curl',
    note: KEY_NOTE,
    code: `curl ${baseUrl}/embeddings \\
  -H "Authorization: Bearer $FOREBAY_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "input": ["water", "river"]}'`,
  },
  {
    id: 'python',
    label: 'Python',
    note: `pip install openai. ${KEY_NOTE}`,
    code: `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}", api_key=os.environ["FOREBAY_API_KEY"])

response = client.embeddings.create(model="${model}", input=["water", "river"])
print(len(response.data[0].embedding))`,
  },
  {
    id: 'node',
    label: 'Node',
    note: `npm install openai. ${KEY_NOTE}`,
    code: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: process.env.FOREBAY_API_KEY })

const response = await client.embeddings.create({ model: '${model}', input: ['water', 'river'] })
console.log(response.data[0].embedding.length)`,
  },
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

export const snippetsFor = (target: Target): Snippet[] =>
  target.modality === 'embedding' ? embedding(target) : chat(target)
