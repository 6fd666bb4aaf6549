import { mutate } from './api'
import { expect, follow, forebay, loaded, SLOW, signInAs, test } from './fixtures'
import { PAGES } from './pages'

test('a workspace is created in the switcher, which remembers it, and deleted in the settings', async ({
  signedOut,
}) => {
  await signInAs(signedOut, forebay())
  const name = `Research ${Date.now()}`
  const switcher = signedOut.getByRole('button', { name: /^Switch organization or workspace/ })
  await signedOut.goto('/settings?tab=workspaces')
  await switcher.click()
  await signedOut.getByRole('menuitem', { name: /^New workspace in/ }).click()
  await signedOut.getByRole('textbox', { name: 'Workspace name' }).fill(name)
  await signedOut.getByRole('button', { name: 'Create workspace' }).click()
  await expect(switcher).toHaveAccessibleName(`Switch organization or workspace. Workspace ${name}`)
  await signedOut.reload()
  await expect(switcher).toHaveAccessibleName(`Switch organization or workspace. Workspace ${name}`)

  const row = signedOut.getByRole('table', { name: 'Workspaces' }).getByRole('row', { name })
  await expect(row).toContainText(/requests\/min.*0 of \d+.*\$0\.00/)
  await expect(row.getByRole('button', { name: `Delete ${name}` })).toBeDisabled()
  await switcher.click()
  await signedOut.getByRole('menuitem', { name: 'Default', exact: true }).click()
  await row.getByRole('button', { name: `Delete ${name}` }).click()
  const dialog = signedOut.getByRole('dialog', { name: `Delete ${name}?` })
  await expect(dialog).toContainText('Its usage and bills stay.')
  await dialog.getByRole('textbox').fill(name)
  await dialog.getByRole('button', { name: 'Delete workspace' }).click()
  await expect(row).toHaveCount(0)
})

test('a member without a workspace sees whom to ask, and no request is rejected', async ({ page, signedOut }) => {
  const email = `new-${Date.now()}@example.com`
  const password = 'a password of some length'
  const account = { email, password, organizationId: forebay().organizationId, role: 'member' }
  await mutate(page.request, 'POST', '/api/users', account)

  const rejected: string[] = []
  signedOut.on(
    'response',
    (response) => response.status() >= 400 && rejected.push(`${response.status()} ${response.url()}`),
  )
  await signInAs(signedOut, { email, password })
  await signedOut.goto('/models')
  await loaded(signedOut)
  for (const path of ['/settings', '/members', '/keys']) await follow(signedOut, path)
  await expect(signedOut.getByRole('heading', { name: 'You are not in a workspace yet' })).toBeVisible()
  await follow(signedOut, '/audit')
  await expect(signedOut.getByRole('heading', { name: 'The audit log is for administrators' })).toBeVisible()
  expect(rejected).toEqual([])
})

test(
  'a member of an empty workspace opens every page without a rejected request',
  SLOW,
  async ({ page, signedOut }) => {
    test.slow() // every page
    const email = `member-${Date.now()}@example.com`
    const password = 'a password of some length'
    const account = { email, password, organizationId: forebay().organizationId, role: 'member' }
    const { id: userId } = await mutate(page.request, 'POST', '/api/users', account)
    const workspace = await mutate(page.request, 'POST', '/api/workspaces', { name: `Quiet ${Date.now()}` })
    await mutate(page.request, 'PUT', `/api/workspaces/${workspace.id}/members/${userId}`)

    const rejected: string[] = []
    signedOut.on(
      'response',
      (response) => response.status() >= 400 && rejected.push(`${response.status()} ${response.url()}`),
    )
    await signInAs(signedOut, { email, password })
    await signedOut.goto('/')
    await loaded(signedOut)
    for (const { path } of PAGES) {
      await follow(signedOut, path)
      await expect(signedOut.getByRole('heading', { level: 1 })).toHaveCount(1)
      await expect(signedOut.getByText('Try again')).toHaveCount(0)
    }
    expect(rejected).toEqual([])
  },
)
