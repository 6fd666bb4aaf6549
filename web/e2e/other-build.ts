/** The console of another build, without building one. */

import type { Page } from '@playwright/test'

/** Serves the files under other paths, as an upgrade does: the document names those, and the old ones are gone. */
export async function serveOtherBuild(page: Page) {
  await page.route('**/*', async (route) => {
    const { url, isDocument } = { url: route.request().url(), isDocument: route.request().isNavigationRequest() }
    const { pathname } = new URL(url)
    if (pathname.startsWith('/assets/')) return route.fulfill({ status: 404 })
    if (!isDocument && !pathname.startsWith('/assets-2/')) return route.fallback()
    const response = await route.fetch({ url: url.replace('/assets-2/', '/assets/') })
    const type = response.headers()['content-type'] ?? ''
    if (!/html|javascript|css/.test(type)) return route.fulfill({ response })
    const body = (await response.text()).replaceAll('assets/', 'assets-2/')
    return route.fulfill({ status: response.status(), contentType: type, body })
  })
}
