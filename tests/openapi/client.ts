// A client generated from /openapi.json: it must compile, and the documented members must exist.
import createClient from 'openapi-fetch'
import type { paths } from './schema.js'

const [base, email, password] = process.argv.slice(2)
if (!base || !email || !password) throw new Error('usage: client.js BASE EMAIL PASSWORD')

const anonymous = createClient<paths>({ baseUrl: base })
const signedIn = await anonymous.POST('/api/session', { body: { email, password } })
if (!signedIn.data?.user || !('csrfToken' in signedIn.data)) throw new Error(JSON.stringify(signedIn.error))
const cookie = signedIn.response.headers.get('set-cookie')?.split(';')[0] ?? ''
const client = createClient<paths>({
  baseUrl: base,
  headers: { cookie, 'X-CSRF-Token': signedIn.data.csrfToken },
})

const workspaceId: string | null | undefined = signedIn.data.currentWorkspaceId
if (!workspaceId) throw new Error('no current workspace')
const path = { workspaceId }

const workspace = await client.GET('/api/workspaces/{workspaceId}', { params: { path } })
const version: number | undefined = workspace.data?.version
if (version === undefined) throw new Error(workspace.error?.code)

const created = await client.POST('/api/workspaces/{workspaceId}/keys', { params: { path }, body: { name: 'typescript' } })
if (!created.data?.key) throw new Error(created.error?.code)
const key: string = created.data.key

const models = await createClient<paths>({ baseUrl: base, headers: { authorization: `Bearer ${key}` } }).GET('/v1/models')
const ids: string[] = models.data?.data.map((model) => model.id) ?? []
if (!ids.includes('acme/tiny-chat')) throw new Error(`models: ${ids.join(', ')}`)

const stale = await client.PATCH('/api/workspaces/{workspaceId}', { params: { path }, body: { version: version + 1 } })
if (stale.error?.code !== 'version_conflict') throw new Error(JSON.stringify(stale))

const revoked = await client.DELETE('/api/workspaces/{workspaceId}/keys/{keyId}', {
  params: { path: { workspaceId, keyId: created.data.id } },
})
if (revoked.response.status !== 204) throw new Error(revoked.error?.code)
console.log('the client works')
