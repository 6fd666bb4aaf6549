import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { chatLine } from './api'
import { expect, expectAccessible, loaded, test } from './fixtures'

const CHAT = 'forebay/smollm2-135m-instruct'
const RUN = { timeout: 120_000 }

// A workspace without files has the button twice.
async function upload(page: Page, name: string, lines: string[]) {
  const choosing = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Upload file' }).first().click()
  await (await choosing).setFiles({ name, mimeType: 'application/jsonl', buffer: Buffer.from(lines.join('\n')) })
  await expect(page.getByText(`${name},`, { exact: false }).first()).toBeVisible()
}

const figure = (page: Page, label: string) =>
  page.getByRole('region', { name: 'Lines' }).locator('dl > div').filter({ hasText: label }).locator('dd')

test('a file is uploaded and becomes a batch, whose results, failing lines and cost are shown', async ({ page }) => {
  test.slow() // an engine runs the lines
  const name = `calls-${Date.now()}.jsonl`
  await page.goto('/batches')
  await loaded(page)
  await page.getByRole('button', { name: 'New batch' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New batch' })
  // A prompt that does not fit fails when it runs, not when the file is checked.
  const long = { messages: [{ role: 'user', content: 'word '.repeat(20_000) }] }
  await upload(page, name, [chatLine('one', CHAT), chatLine('two', CHAT), chatLine('too-long', CHAT, long)])
  await expect(dialog.getByRole('combobox', { name: 'File' })).toHaveValue(new RegExp(name))
  await expect(dialog.getByRole('combobox', { name: 'API' })).toHaveValue('Chat completions')
  await dialog.getByRole('combobox', { name: 'Metadata' }).fill('run=nightly')
  await page.keyboard.press('Enter')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Create batch' }).click()

  await expect(page).toHaveURL(/\/batches\/batch_/)
  await expect(page.getByText('Completed', { exact: true }).first()).toBeVisible(RUN)
  await expect(page.getByText('3 of 3 lines, 1 failed')).toBeVisible()
  await expect(figure(page, 'Succeeded')).toHaveText('2')
  await expect(figure(page, 'Failed')).toHaveText('1')
  await expect(figure(page, 'Cost')).toContainText('$')
  await expect(page.getByRole('table', { name: 'Lines that failed' })).toContainText('too-long')
  await expect(page.getByRole('button', { name: 'Cancel batch' })).toHaveAttribute('aria-disabled', 'true')
  await expectAccessible(page)
  const saving = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Output' }).click()
  const results = readFileSync(await (await saving).path(), 'utf8')
    .trim()
    .split('\n')
  expect(results.map((result) => JSON.parse(result).custom_id).sort()).toEqual(['one', 'two'])

  // Its lines are in the request log, and lead back to it.
  await page.goto('/observability?tab=requests&surface=batch')
  await loaded(page)
  await page
    .getByRole('button', { name: /^Details of/ })
    .first()
    .click(RUN)
  await page
    .getByRole('dialog')
    .getByRole('link', { name: /^batch_/ })
    .click()
  await expect(page).toHaveURL(/\/batches\/batch_/)

  await page.getByRole('navigation').getByRole('link', { name: 'Batches', exact: true }).click()
  const row = page.getByRole('table', { name: 'Batches' }).getByRole('row').filter({ hasText: 'run=nightly' }).first()
  await expect(row).toContainText('Completed')
  await page.getByRole('tab', { name: 'Files' }).click()
  await expect(page).toHaveURL(/tab=files/)
  const files = page.getByRole('table', { name: 'Files' })
  await expect(files.getByRole('row').filter({ hasText: name })).toContainText('Input')
  await page.getByRole('button', { name: `Delete ${name}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete file' }).click()
  await expect(files.getByRole('row').filter({ hasText: name })).toHaveCount(0)
})

test('a file with an invalid line fails the batch, which names the line', async ({ page }) => {
  const name = `invalid-${Date.now()}.jsonl`
  await page.goto('/batches?tab=files')
  await loaded(page)
  await upload(page, name, [chatLine('one', CHAT), chatLine('two', 'acme/no-such-model')])
  await page.getByRole('button', { name: `New batch of ${name}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Create batch' }).click()
  const problems = page.getByRole('table', { name: 'Problems of the file' })
  await expect(problems).toContainText('2', RUN)
  await expect(problems).toContainText('model_not_found')
  await expectAccessible(page)
})
