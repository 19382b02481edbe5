import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: ['test/support/package.ts', 'test/support/memory-disk.ts'],
    dir: 'test',
    exclude: ['**/long/**', '**/real/**'],
    // Each test starts real daemons, which wait for disks and clocks: one worker more than there are cores keeps both busy.
    maxWorkers: 3,
    // No module of ours keeps anything: to load all of them anew for each file would take a third of the time.
    isolate: false,
    expect: { requireAssertions: true },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
