import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: 'test/support/package.ts',
    dir: 'test/campaign',
    include: ['**/*.campaign.ts'],
    maxWorkers: 1,
    testTimeout: 24 * 3_600_000,
  },
})
