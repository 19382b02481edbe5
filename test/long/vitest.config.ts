import { defineConfig } from 'vitest/config'

/** Full counts of the fault tests, and what needs a machine of its own: real service managers, real clients. */
export default defineConfig({
  test: {
    globalSetup: 'test/support/package.ts',
    dir: 'test/long',
    maxWorkers: 1,
    testTimeout: 1_800_000,
    hookTimeout: 120_000,
  },
})
