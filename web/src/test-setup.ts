// Browser APIs that Mantine needs and jsdom lacks. Component tests begin with `// @vitest-environment jsdom`.
if (typeof window !== 'undefined') {
  const { cleanup, configure } = await import('@testing-library/react')
  const { afterEach } = await import('vitest')
  window.matchMedia ??= (query: string) =>
    ({ matches: false, media: query, addEventListener: () => {}, removeEventListener: () => {} }) as never
  window.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  }
  window.HTMLElement.prototype.scrollIntoView ??= () => {}
  // Set before the API client is loaded, which keeps the function that it finds.
  globalThis.fetch = (await import('./testing')).fetchFromFakeApi
  configure({ asyncUtilTimeout: 10_000 }) // for busy machines
  afterEach(cleanup)
}

export {}
