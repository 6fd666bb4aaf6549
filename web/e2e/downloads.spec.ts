import { mutate } from './api'
import { expect, expectAccessible, loaded, SLOW, test } from './fixtures'

const hub = () => process.env.HF_ENDPOINT ?? ''

test(
  'a model of the hub is looked up, downloaded in two parts, started, called and deleted',
  SLOW,
  async ({ page, forebay }) => {
    test.slow() // the engine loads the weights
    const id = `acme/smol-${Date.now()}`
    await page.goto('/operator/models/new?how=run')
    await loaded(page)
    await page.getByRole('combobox', { name: 'Model' }).fill('hf://acme/smol-GGUF')
    await page.getByRole('button', { name: 'Look up' }).click()
    const found = page.getByRole('region', { name: '2. What runs here' })
    await expect(found).toContainText('apache-2.0')
    await expect(found).toContainText('8,192 tokens')
    await expect(found.getByText('Fits', { exact: true })).toHaveCount(2)
    await expectAccessible(page)

    // It is cancelled on its way, and goes on where it stopped.
    await page.request.post(`${hub()}/-/hold`)
    await found.getByRole('button', { name: /^Download \d/ }).click()
    await expect(found).toContainText('Downloading')
    await found.getByRole('button', { name: 'Cancel' }).click()
    await expect(found).toContainText('Cancelled')
    await expectAccessible(page)
    await page.request.post(`${hub()}/-/release`)
    await found.getByRole('button', { name: 'Resume' }).click()
    await expect(found).toContainText('On this machine', { timeout: 60_000 })

    const form = page.getByRole('region', { name: '3. Name, prices and limits' })
    await expect(form.getByRole('textbox', { name: 'Model ID' })).toHaveValue('acme/smol.q4_1')
    await form.getByRole('textbox', { name: 'Model ID' }).fill(id)
    await form.getByRole('textbox', { name: 'Output price' }).fill('0.40')
    await form.getByRole('button', { name: 'Add model' }).click()
    await expect(page).toHaveURL(new RegExp(`/operator/models/${id}$`))
    await expect(page.getByText('Available', { exact: true }).first()).toBeVisible({ timeout: 60_000 })
    await page.getByRole('button', { name: 'Send test call' }).click()
    await expect(page.getByRole('region', { name: 'Test' })).toContainText('The model responded', { timeout: 30_000 })
    const call = await page.request.post(`${forebay.url}/v1/chat/completions`, {
      headers: { authorization: `Bearer ${forebay.apiKey}` },
      data: { model: id, max_tokens: 4, messages: [{ role: 'user', content: 'Hello' }] },
    })
    expect(call.status()).toBe(200)

    // Files that a model uses are kept.
    await page.goto('/operator/models/new?how=run')
    const downloads = page.getByRole('region', { name: 'Downloads' })
    await expect(downloads).toContainText(`Used by ${id}`)
    await expect(
      downloads.getByRole('button', { name: /^Delete files of acme\/smol-GGUF\/.* on node_/ }),
    ).toBeDisabled()
    await expectAccessible(page)
    await mutate(page.request, 'DELETE', `/api/operator/models/${encodeURIComponent(id)}`)
    await page.reload()
    await downloads.getByRole('button', { name: /^Use acme\/smol-GGUF\/.* on node_/ }).click()
    await expect(found).toContainText('On this machine')
    await downloads.getByRole('button', { name: 'Delete files' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete files' }).click()
    await expect(downloads).toHaveCount(0)
    await expect(found).toHaveCount(0)
  },
)
