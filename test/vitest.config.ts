import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: ['test/support/package.ts', 'test/support/memory-disk.ts'],
    dir: 'test',
    exclude: ['**/long/**', '**/real/**'],
    // Tests of real daemons wait for clocks, some of them for seconds: twice as many workers as there are cores keep both busy.
    maxWorkers: 4,
    // No module of ours keeps anything: to load all of them anew for each file would take a third of the time.
    isolate: false,
    expect: { requireAssertions: true },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
