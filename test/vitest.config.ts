import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    dir: 'test',
    exclude: ['**/long/**', '**/real/**'],
    // Each test starts real daemons; more workers than cores only make them wait for each other.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
