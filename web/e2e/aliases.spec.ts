import { mutate } from './api'
import { expect, expectAccessible, loaded, SLOW, signInAs, test } from './fixtures'

const CHAT = 'forebay/smollm2-135m-instruct'
const EMBEDDING = 'sentence-transformers/all-minilm-l6-v2'
/** Tests share a workspace and run in parallel. */
const newName = () => `claude-${Date.now()}-${Math.floor(Math.random() * 1e6)}`
const aliasPath = (workspaceId: string, name: string) =>
  `/api/workspaces/${workspaceId}/aliases/${encodeURIComponent(name)}`

test('an alias is created, found in the library, changed and deleted', async ({ page, forebay }) => {
  const name = newName()
  await page.goto('/settings')
  await loaded(page)
  const panel = page.getByRole('region', { name: 'Aliases', exact: true })
  const row = panel.getByRole('row').filter({ hasText: name })
  await panel.getByRole('textbox', { name: 'Name' }).fill(` ${name} `)
  await panel.getByRole('combobox', { name: 'Model' }).fill('smollm2')
  await page.getByRole('option', { name: CHAT }).click()
  await panel.getByRole('button', { name: 'Save alias' }).click()
  await expect(row).toContainText(CHAT)
  await expect(panel.getByRole('textbox', { name: 'Name' })).toHaveValue('')
  await expectAccessible(page)

  await page.goto('/models')
  await loaded(page)
  await page.getByRole('searchbox', { name: 'Search models' }).fill(name)
  const cards = page.getByRole('list', { name: 'Models' }).getByRole('listitem')
  await expect(cards).toHaveCount(1)
  await expect(cards).toContainText(new RegExp(`Also called .*${name}`))
  await page.getByRole('link', { name: 'SmolLM2 135M Instruct' }).click()
  await expect(page.getByText(/^Also called/)).toContainText(name)
  await expectAccessible(page)

  // An existing name is changed, not created twice.
  await page.goto('/settings')
  await loaded(page)
  await panel.getByRole('textbox', { name: 'Name' }).fill(name)
  await expect(panel.getByText(`Exists and means ${CHAT}; saving changes it`)).toBeVisible()
  await panel.getByRole('combobox', { name: 'Model' }).fill(EMBEDDING)
  await panel.getByRole('button', { name: 'Change alias' }).click()
  await expect(row).toContainText(EMBEDDING)
  await expect(row).toHaveCount(1)

  await row.getByRole('button', { name: `Delete ${name}` }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete alias' })
  await expect(dialog).toContainText('model_not_found')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(row).toHaveCount(1)
  await row.getByRole('button', { name: `Delete ${name}` }).click()
  await dialog.getByRole('button', { name: 'Delete alias' }).click()
  await expect(row).toHaveCount(0)
  const { data } = await (await page.request.get(`/api/workspaces/${forebay.workspaceId}/aliases`)).json()
  expect(data.map((one: { name: string }) => one.name)).not.toContain(name)
})

test(
  'deleting an alias that another administrator has deleted says so',
  SLOW,
  async ({ page, forebay, expectProblem }) => {
    expectProblem(/404.*\/aliases\//)
    const name = newName()
    const path = aliasPath(forebay.workspaceId, name)
    await mutate(page.request, 'PUT', path, { model: CHAT })
    await page.goto('/settings')
    await loaded(page)
    await page.getByRole('button', { name: `Delete ${name}` }).click()
    await mutate(page.request, 'DELETE', path)
    const dialog = page.getByRole('dialog', { name: 'Delete alias' })
    await dialog.getByRole('button', { name: 'Delete alias' }).click()
    await expect(dialog.getByRole('alert')).toContainText('not_found')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await expect(page.getByRole('button', { name: `Delete ${name}` })).toHaveCount(0)
  },
)

test('a member sees aliases and cannot change them', async ({ page, signedOut, forebay }) => {
  const name = newName()
  const path = aliasPath(forebay.workspaceId, name)
  await mutate(page.request, 'PUT', path, { model: CHAT })
  const member = { email: `${name}@example.com`, password: 'a password of some length' }
  const { organizationId, workspaceId } = forebay
  const { id } = await mutate(page.request, 'POST', '/api/users', { ...member, organizationId, role: 'member' })
  await mutate(page.request, 'PUT', `/api/workspaces/${workspaceId}/members/${id}`)

  await signInAs(signedOut, member)
  await signedOut.goto('/settings')
  await loaded(signedOut)
  const panel = signedOut.getByRole('region', { name: 'Aliases', exact: true })
  await expect(panel.getByText(name)).toBeVisible()
  await expect(panel.getByRole('button')).toHaveCount(0)
  await expect(panel.getByRole('textbox')).toHaveCount(0)
  await expectAccessible(signedOut)
  const { csrfToken } = await (await signedOut.request.get('/api/session')).json()
  const rejected = await signedOut.request.delete(path, { headers: { 'X-CSRF-Token': csrfToken } })
  expect(rejected.status()).toBe(403)

  await mutate(page.request, 'DELETE', `/api/users/${id}`)
  await mutate(page.request, 'DELETE', path)
})
