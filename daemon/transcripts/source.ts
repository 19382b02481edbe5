/** Where transcripts are: the folders that harnesses keep them in, and the files below. */
import { adapterFor } from './adapters.ts'

export type Root = { harness: string; path: string }

/** A transcript, and the root of its harness that it was found under. */
export type Source = { harness: string; root: string; path: string }

/** How many levels of folders a harness makes below its root. */
const DEPTH: Record<string, number> = { 'claude-code': 6, codex: 4, gemini: 3, pi: 1 }
const OTHERS_DEPTH = 6

export function depthOf(harness: string): number {
  return DEPTH[harness] ?? OTHERS_DEPTH
}

/** The transcript of that name, from the root on, if it is one. */
export function sourceOf({ harness, path: root }: Root, name: string): Source | undefined {
  return adapterFor(harness).isTranscript(name) ? { harness, root, path: `${root}/${name}` } : undefined
}

/** Whether transcripts can be below the folder of that name, from the root on. */
export function mayHold({ harness }: Root, folder: string): boolean {
  return adapterFor(harness).mayHold?.(folder) ?? true
}

export function nameOf({ root, path }: Source): string {
  return path.slice(root.length + 1)
}
