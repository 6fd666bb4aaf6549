// @vitest-environment jsdom
import { render } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import Markdown from './Markdown'
import { safeLink } from './safe-link'

const rendered = (text: string) => render(<Markdown text={text} />).container

describe('Markdown from a model', () => {
  it('shows HTML as text', () => {
    const page = rendered('<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> <b onclick="alert(1)">x</b>')
    expect(page.querySelector('script, img, b, [onclick], [onerror]')).toBeNull()
    expect(page.textContent).toContain('<script>alert(1)</script>')
  })

  it('allows only web and mail links', () => {
    const page = rendered(
      '[a](javascript:alert(1)) [b](https://example.com/) [c](data:text/html,x) [d](/api/session) [e](JaVaScRiPt:alert(1))',
    )
    const links = [...page.querySelectorAll('a')]
    expect(links.map((link) => link.getAttribute('href'))).toEqual(['https://example.com/'])
    expect(links[0]).toMatchObject({ target: '_blank', rel: 'noopener noreferrer nofollow' })
    for (const bad of [
      'javascript:alert(1)',
      'vbscript:x',
      'data:text/html,x',
      '//evil.example',
      ' javascript:alert(1)',
      '',
    ])
      expect(safeLink(bad), bad).toBe('')
    expect(safeLink('mailto:a@example.com')).toBe('mailto:a@example.com')
  })

  it('shows an image as a link without loading it', () => {
    const page = rendered('![a chart](https://evil.example/pixel.png?secret) ![x](data:image/svg+xml;base64,AAAA)')
    expect(page.querySelector('img')).toBeNull()
    expect(page.querySelector('a')?.textContent).toBe('Image: a chart')
  })

  it('has no h1 or h2, no input, and highlighted code', () => {
    const page = rendered('# One\n\n## Two\n\n- [x] done\n\n```js\nconst a = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |')
    expect(page.querySelector('h1, h2, input')).toBeNull()
    expect(page.querySelector('h3')?.textContent).toBe('One')
    expect(page.querySelector('.hljs-keyword')?.textContent).toBe('const')
    expect(page.querySelectorAll('td')).toHaveLength(2)
  })
})
