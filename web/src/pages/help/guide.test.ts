import { expect, it } from 'vitest'
import { contents, entriesOf, hasPage, pageText, REFERENCE, resolved, slug, splitTitle } from './guide'

it('the contents have groups and pages that exist', async () => {
  expect(entriesOf('# Summary\n\n[A](a.md)\n\n# Using it\n\n- [B](b.md)\n  - [C](c/d.md)\n')).toEqual([
    { title: 'A', path: 'a.md', depth: 1 },
    { title: 'Using it', depth: 0 },
    { title: 'B', path: 'b.md', depth: 1 },
    { title: 'C', path: 'c/d.md', depth: 2 },
  ])
  const all = await contents()
  expect(all.length).toBeGreaterThan(40)
  expect(all.filter(({ path }) => path && !hasPage(path))).toEqual([{ title: 'Reference', path: REFERENCE, depth: 1 }])
})

it('links lead within the guide, others nowhere', () => {
  expect(resolved('concepts/index.md', '../limits.md#the-meter')).toBe('limits.md#the-meter')
  expect([resolved('index.md', '../README.md'), resolved('index.md', 'https://example.com/')]).toEqual([
    undefined,
    undefined,
  ])
})

it('the configuration reference has its file', async () => {
  expect(await pageText('configuration-reference.md')).toContain('[server]')
  expect(await pageText('no-such-page.md')).toBeUndefined()
})

it('a page has a title, and headings have ids', () => {
  expect(splitTitle('# The `meter`\n\nText')).toEqual({ title: 'The meter', body: '\nText' })
  expect(slug('Usage, and `costs`: 2')).toBe('usage-and-costs-2')
})
