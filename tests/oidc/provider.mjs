// A real OpenID Connect provider with test users: node provider.mjs PORT CALLBACK
// Each start has new signing keys, as after a key rotation.
import { generateKeyPairSync } from 'node:crypto'
import Provider from 'oidc-provider'

const [port, callback] = process.argv.slice(2)
const users = {
  ada: { email: 'ada@example.com', email_verified: true, groups: ['platform', 'staff'] },
  bob: { email: 'bob@example.com', email_verified: true, groups: ['staff'] },
  eve: { email: 'eve@example.com', email_verified: false, groups: ['platform'] },
  guest: { email: 'guest@example.com', email_verified: true, groups: [] },
}
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const signingKey = { ...privateKey.export({ format: 'jwk' }), use: 'sig', kid: `key-${Date.now()}` }

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: 'forebay', client_secret: 'a secret', redirect_uris: [callback] }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
  jwks: { keys: [signingKey] },
  cookies: { keys: ['test'] },
  pkce: { required: () => true },
  findAccount: (_, id) => users[id] && { accountId: id, claims: () => ({ sub: id, ...users[id] }) },
})
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'))
