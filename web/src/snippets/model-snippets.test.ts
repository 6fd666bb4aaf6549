import { describe, expect, it } from 'vitest'
import { snippetsFor } from './model-snippets'

const baseUrl = 'https://ai.example.com/v1'

describe.each(['chat', 'embedding', 'rerank'])('code for %s', (modality) => {
  const snippets = snippetsFor({ baseUrl, model: 'acme/tiny', modality })
  it('contains the base URL in every snippet', () => {
    for (const { label, code } of snippets)
      expect(code, label).toContain(modality === 'rerank' && label === 'Python' ? 'https://ai.example.com' : baseUrl)
  })
  it('contains no key, only the variable that holds it', () => {
    for (const { label, code } of snippets) {
      expect(code, label).toContain('FOREBAY_API_KEY')
      expect(code, label).not.toContain('sk-')
    }
  })
  it('offers curl and Python first, and then Node, which has no client that reranks', () => {
    const first = modality === 'rerank' ? ['curl', 'python'] : ['curl', 'python', 'node']
    expect(snippets.slice(0, 3).map((snippet) => snippet.id)).toEqual(first)
  })
  it('has a valid JSON body', () => {
    const body = /-d '([\s\S]*)'$/.exec(snippets[0]?.code ?? '')?.[1] ?? ''
    expect(JSON.parse(body)).toMatchObject({ model: 'acme/tiny' })
  })
})
