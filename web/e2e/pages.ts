/** Every page, for tests that apply to all of them. Add new pages here. */

import type { APIRequestContext } from '@playwright/test'
import { chatLine, createBatch, mutate } from './api'
import { expect, type UnderTest } from './fixtures'

export const PAGES = [
  { name: 'model-library', path: '/models', title: 'Model Library' },
  { name: 'model-library-table', path: '/models?view=table&sort=-context', title: 'Model Library' },
  { name: 'model', path: '/models/forebay/smollm2-135m-instruct?code=python', title: 'SmolLM2 135M Instruct' },
  { name: 'playground', path: '/playground', title: 'Playground' },
  { name: 'playground-embeddings', path: '/playground?tab=embeddings', title: 'Playground' },
  { name: 'keys', path: '/keys', title: 'API keys' },
  { name: 'endpoints', path: '/endpoints', title: 'Endpoints' },
  { name: 'new-endpoint', path: '/endpoints/new', title: 'New endpoint' },
  { name: 'batches', path: '/batches', title: 'Batches' },
  { name: 'files', path: '/batches?tab=files', title: 'Batches' },
  { name: 'costs', path: '/costs', title: 'Costs' },
  { name: 'observability', path: '/observability', title: 'Observability' },
  { name: 'requests', path: '/observability?tab=requests', title: 'Observability' },
  { name: 'members', path: '/members', title: 'Members' },
  { name: 'invitations', path: '/members?tab=invitations', title: 'Members' },
  { name: 'audit', path: '/audit', title: 'Audit log' },
  { name: 'settings', path: '/settings', title: 'Settings' },
  { name: 'end-users', path: '/settings?tab=end-users', title: 'Settings' },
  { name: 'workspaces', path: '/settings?tab=workspaces', title: 'Settings' },
  { name: 'sessions', path: '/settings?tab=account', title: 'Settings' },
  { name: 'help', path: '/help/costs', title: 'Usage and costs' },
  { name: 'reference', path: '/help/api/reference', title: 'API reference' },
  { name: 'operator', path: '/operator', title: 'Overview' },
  { name: 'operator-models', path: '/operator/models', title: 'Models' },
  { name: 'operator-add-model', path: '/operator/models/new', title: 'Add model' },
  { name: 'operator-run-model', path: '/operator/models/new?how=run', title: 'Add model' },
  { name: 'operator-offer-flavor', path: '/operator/models/new?how=dedicated', title: 'Add model' },
  {
    name: 'operator-model',
    path: '/operator/models/forebay/smollm2-135m-instruct',
    title: 'SmolLM2 135M Instruct',
  },
  { name: 'operator-health', path: '/operator/health', title: 'Nodes and health' },
  { name: 'operator-organizations', path: '/operator/organizations', title: 'Organizations' },
  { name: 'operator-users', path: '/operator/users', title: 'Users' },
] as const

export type ListedPage = { name: string; path: string; title: string }

/** Pages of single records, which are made first. The endpoint is suspended, so that no engine starts. */
export async function recordPages(api: APIRequestContext, forebay: UnderTest): Promise<ListedPage[]> {
  const name = `listed-${Date.now()}`
  const key = await mutate(api, 'POST', `/api/workspaces/${forebay.workspaceId}/keys`, {
    name,
    budgets: [{ window: 'month', usd: '25' }],
  })
  const headers = { authorization: `Bearer ${forebay.apiKey}` }
  const data = { name, model: 'forebay/smollm2-135m-instruct', flavor: 'cpu-1x-q4' }
  expect((await api.post('/v1/endpoints', { headers, data })).status()).toBe(201)
  expect((await api.post(`/v1/endpoints/${name}/suspend`, { headers })).status()).toBe(200)
  const batch = await createBatch(api, forebay, [chatLine('one', 'forebay/smollm2-135m-instruct')])
  const organization = await (await api.get(`/api/operator/organizations/${forebay.organizationId}`)).json()
  return [
    { name: 'key', path: `/keys/${key.id}`, title: name },
    { name: 'batch', path: `/batches/${batch.id}`, title: 'Batch' },
    ...['overview', 'metrics', 'events', 'replicas'].map((tab) => ({
      name: `endpoint-${tab}`,
      path: `/endpoints/${name}?tab=${tab}`,
      title: name,
    })),
    {
      name: 'operator-organization',
      path: `/operator/organizations/${forebay.organizationId}`,
      title: organization.name,
    },
  ]
}

/** Pages that need no session. */
export const SIGNED_OUT_PAGES = [
  { name: 'sign-in', path: '/sign-in', title: 'Sign in' },
  { name: 'incomplete-invitation', path: '/invitation', title: 'Invitation' },
] as const
