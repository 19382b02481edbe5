/** Builds what is published: each program in `dist`, with the packages it uses, in as few files as they share. */
import { defineConfig } from 'rolldown'

export default defineConfig({
  input: {
    cli: 'client/cli/main.ts',
    daemon: 'daemon/main.ts',
    hook: 'client/hooks/hook.ts',
    'reader-worker': 'daemon/transcripts/reader-worker.ts',
    'check-worker': 'daemon/db/check-worker.ts',
  },
  platform: 'node',
  // fastify loads the last two only where it is given no compilers of ours.
  external: ['better-sqlite3', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
  // gray-matter can evaluate code; the wrapper around it refuses to.
  checks: { eval: false },
  output: {
    ...{ dir: 'dist', cleanDir: true, minify: true, chunkFileNames: '[name]-[hash].js' },
    // What every command loads stands in one file: to open eight of them takes a tenth of its time.
    codeSplitting: {
      groups: [
        { name: 'shared', test: /(schema.(errors|rendezvous|caller|route-table)|cli.(context|installation))\.ts$/ },
      ],
    },
  },
})
