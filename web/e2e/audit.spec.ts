import { mutate } from './api'
import { expect, expectAccessible, loaded, test } from './fixtures'

test('a change is recorded, found by filters, and shown with its values before and after', async ({
  page,
  context,
  forebay,
}) => {
  const name = `audited-${Date.now()}`
  const key = await mutate(context.request, 'POST', `/api/workspaces/${forebay.workspaceId}/keys`, { name })

  await page.goto('/audit')
  await loaded(page)
  await page.getByRole('searchbox', { name: 'Subject' }).fill(key.id)
  await expect(page).toHaveURL(new RegExp(`subject=${key.id}`))
  const entries = page.getByRole('table', { name: 'Audit log' }).getByRole('rowheader')
  await expect(entries).toHaveText(['key.create'])
  await expectAccessible(page)
  await entries.getByRole('button').click()
  await expect(page).toHaveURL(/entry=/)
  const drawer = page.getByRole('dialog', { name: 'key.create' })
  await expect(drawer).toContainText(forebay.email)
  await expect(drawer).toContainText(name)
  await expect(drawer).not.toContainText(key.key)
  await expectAccessible(page)
  await drawer.getByRole('button', { name: 'Close' }).click()

  const exported = page.getByRole('link', { name: 'Export JSONL' })
  const lines = await (await context.request.get((await exported.getAttribute('href')) ?? '')).text()
  expect(
    lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).action),
  ).toEqual(['key.create'])

  await page.getByRole('searchbox', { name: 'Subject' }).fill('nothing-of-this-name')
  await expect(page.getByText('No entry matches')).toBeVisible()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expect(entries.first()).toBeVisible()
})
