import { expect, it } from 'vitest'
import { browserOf } from './browser'

it('names the browser and the system', () => {
  const linux = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)'
  expect(browserOf(`${linux} HeadlessChrome/142.0.0.0 Safari/537.36`)).toBe('Chrome 142 on Linux')
  expect(browserOf(`${linux} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.1`)).toBe('Edge 142 on Linux')
  expect(
    browserOf('Mozilla/5.0 (Macintosh; Intel Mac OS X 15_1) AppleWebKit/605.1.15 Version/18.1 Safari/605.1.15'),
  ).toBe('Safari 18 on macOS')
  expect(browserOf('curl/8.5.0')).toBe('curl 8')
  expect(browserOf('python-requests/2.32')).toBe('python-requests/2.32')
  expect(browserOf('')).toBe('Unknown')
})
