import { existsSync } from 'node:fs'
import { defineConfig, devices } from '@playwright/test'

/** Debian's headless Chromium, so that nothing is downloaded. */
const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell'
if (!existsSync(chromium))
  throw new Error(`there is no browser at ${chromium}: apt-get install chromium-headless-shell, or set CHROMIUM`)

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'test-results',
  globalSetup: './e2e/global-setup.ts',
  forbidOnly: !!process.env.CI,
  fullyParallel: true,
  workers: 2,
  // A busy machine can be too slow for a step; tests that pass on retry are reported as flaky.
  retries: 2,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: [['list']],
  use: {
    ...devices['Desktop Chrome'],
    viewport: { width: 1280, height: 900 },
    // Each dialog and menu would otherwise take its time to fade in and out.
    contextOptions: { reducedMotion: 'reduce' },
    launchOptions: { executablePath: chromium },
    // A trace has the DOM at every step, which takes time, so only tests that failed are traced when they are repeated. Its
    // film would cost a quarter of the CPU time of the suite.
    trace: { mode: 'on-first-retry', screenshots: false },
    screenshot: 'only-on-failure',
    permissions: ['clipboard-read', 'clipboard-write'],
  },
  projects: [
    { name: 'tests', testMatch: '**/*.spec.ts' },
    { name: 'sample-data', testMatch: '**/sample-data.ts' },
    { name: 'screenshots', testMatch: '**/screenshots.ts', dependencies: ['sample-data'], timeout: 300_000 },
  ],
})
