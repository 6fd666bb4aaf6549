// Browser APIs that Mantine needs and jsdom lacks. Component tests begin with `// @vitest-environment jsdom`.
if (typeof window !== 'undefined') {
  const { cleanup } = await import('@testing-library/react')
  const { afterEach } = await import('vitest')
  window.matchMedia ??= (query: string) =>
    ({ matches: false, media: query, addEventListener: () => {}, removeEventListener: () => {} }) as never
  window.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  }
  afterEach(cleanup)
}

export {}
