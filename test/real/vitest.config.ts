import { defineConfig } from 'vitest/config'

/** Other people's programs, installed for the occasion: run on demand, never with `npm test`. */
export default defineConfig({
  test: {
    globalSetup: 'test/support/package.ts',
    dir: 'test/real',
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 600_000,
  },
})
