import { readFileSync } from 'node:fs'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

/** The forebay server that `npm run dev` proxies to. */
const forebay = process.env.FOREBAY_URL ?? 'http://127.0.0.1:8080'

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

export default defineConfig({
  plugins: [react()],
  define: { __FOREBAY_VERSION__: JSON.stringify(version) },
  build: {
    target: 'es2022',
    // `dist/.gitignore` is in the repository, so that cargo has a folder to watch; scripts/clean.mjs leaves it there.
    emptyOutDir: false,
    // A data: address would need an exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    manifest: true,
    chunkSizeWarningLimit: 700,
  },
  server: {
    port: 5173,
    // The guide is in docs/.
    fs: { allow: ['..'] },
    proxy: {
      '/api': forebay,
      '/v1': forebay,
      '/docs': forebay,
      '/problems': forebay,
      '/openapi.json': forebay,
    },
  },
  test: {
    environment: 'node',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/test-setup.ts'],
    // Typing into forms is slow in jsdom, above all on a busy machine.
    testTimeout: 30_000,
    // One start for all files instead of 65; cleanup in test-setup.ts separates the tests.
    isolate: false,
  },
})
