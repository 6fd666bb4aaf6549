// A real OpenID Connect provider with test users: node provider.mjs PORT CALLBACK [GROUPS]
// Each start has new signing keys, as after a key rotation. GROUPS is a JSON file with the current groups of users who
// join and leave them, by login; it is read at every sign-in.
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import Provider from 'oidc-provider'

const [port, callback, groupsFile] = process.argv.slice(2)
const users = {
  ada: { email: 'ada@example.com', email_verified: true, groups: ['platform', 'staff'] },
  bob: { email: 'bob@example.com', email_verified: true, groups: ['staff'] },
  eve: { email: 'eve@example.com', email_verified: false, groups: ['platform'] },
  guest: { email: 'guest@example.com', email_verified: true, groups: [] },
  ceo: { email: 'ceo@example.com', email_verified: true, groups: ['platform'] },
  carl: { email: 'carl@example.com', email_verified: true, groups: ['platform'] },
  dora: { email: 'dora@example.com', email_verified: true, groups: ['staff'] },
}

function claimsOf(id) {
  const groups = groupsFile && existsSync(groupsFile) ? JSON.parse(readFileSync(groupsFile, 'utf8'))[id] : undefined
  return { sub: id, ...users[id], ...(groups && { groups }) }
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const signingKey = { ...privateKey.export({ format: 'jwk' }), use: 'sig', kid: `key-${Date.now()}` }

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: 'forebay', client_secret: 'a secret', redirect_uris: [callback] }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
  jwks: { keys: [signingKey] },
  cookies: { keys: ['test'] },
  pkce: { required: () => true },
  findAccount: (_, id) => users[id] && { accountId: id, claims: () => claimsOf(id) },
})
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'))
