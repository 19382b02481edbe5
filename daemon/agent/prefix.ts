/**
 * The part of a request that jobs share, and where in it a server is asked to cache: behind what is the same for all,
 * where the last job of the session ended, and where this one ends. The task comes after that. Pure.
 */
import { hash } from 'node:crypto'
import type { CacheControl, Message, ModelRequest, SystemBlock, TextBlock, ToolSpec } from '../models/provider.ts'
import { PREAMBLE } from './preamble.ts'
import type { Rendered } from './rendering.ts'
import { toolSpecs } from './tools.ts'

export type Part = { name: string; hash: string }

export type Prefix = {
  kind: 'rendered' | 'harness'
  /** Of whom: a session. Jobs of one share what a server keeps. */
  key: string
  model: string
  /** In order, for whoever compares what was sent with what is sent now. */
  parts: readonly Part[]
  /** How long a server has what was marked, counted from its last use. */
  keptMs: number
  /** Whether there is a place left to have the conversation cached as it goes on. */
  marks: 'tail' | 'none'
  /** `since`: how many parts the last job of this session had sent. `maxTokens`: what the task may be answered with. */
  request(task: string, since: number, maxTokens: number): Pick<ModelRequest, 'system' | 'tools' | 'messages' | 'raw'>
}

/**
 * How long a server is asked to keep what jobs share. Usually an hour, though it costs twice as much to write as five
 * minutes: people read and think between two turns, and a prefix that has to be written again costs as much as twenty
 * that are kept. Nothing where no other job asks the same model.
 */
export type Keep = '1h' | '5m' | 'nothing'

const KEPT_MS = { '1h': 3_600_000, '5m': 300_000, nothing: 0 }

export type Of = { key: string; model: string; keep: Keep }

/** What is the same for all; behind it come the head and the messages. */
function fixedParts(tools: readonly ToolSpec[]): Part[] {
  return [
    { name: 'tools', hash: hash('sha256', JSON.stringify(tools)) },
    { name: 'preamble', hash: hash('sha256', PREAMBLE) },
  ]
}

export function renderedPrefix({ key, model, keep }: Of, rendered: Rendered, tools = toolSpecs()): Prefix {
  const { head, messages } = rendered
  const fixed = fixedParts(tools)
  const parts = [
    ...fixed,
    { name: 'head', hash: hash('sha256', head) },
    ...messages.map(({ name, hash: text }) => ({ name, hash: text })),
  ]
  const texts = [head, ...messages.map(({ text }) => text)]
  return {
    key,
    model,
    kind: 'rendered',
    parts,
    keptMs: KEPT_MS[keep],
    marks: 'tail',
    request: (task, since) => {
      const ends = [since - fixed.length - 1, texts.length - 1]
      const blocks = texts.map((text, n): TextBlock => ({ type: 'text', text, ...(ends.includes(n) && marked(keep)) }))
      const system: SystemBlock[] = [{ type: 'text', text: PREAMBLE, ...marked(keep) }]
      const end: TextBlock = { type: 'text', text: `</transcript>\n\n${task}` }
      return { system, tools, messages: [{ role: 'user', content: [...blocks, end] }] }
    },
  }
}

function marked(keep: Keep): { cacheControl?: CacheControl } {
  return keep === 'nothing' ? {} : { cacheControl: keep }
}

/** For a job that is about no session: only what is the same for all. */
export function barePrefix({ key, model, keep }: Of, tools = toolSpecs()): Prefix {
  return {
    key,
    model,
    kind: 'rendered',
    parts: fixedParts(tools),
    keptMs: KEPT_MS[keep],
    marks: 'tail',
    request: (task) => ({
      system: [{ type: 'text', text: PREAMBLE, ...marked(keep) }],
      tools,
      messages: [{ role: 'user', content: [{ type: 'text', text: task }] }],
    }),
  }
}

/** A harness's own request, to which only the task is added. */
export function harnessPrefix(key: string, params: Readonly<Record<string, unknown>>): Prefix {
  const { messages, model, max_tokens: _, ...others } = params
  const said = Array.isArray(messages) ? messages : []
  const ask = (task: string): Message[] => [{ role: 'user', content: [{ type: 'text', text: task }] }]
  return {
    kind: 'harness',
    key,
    model: String(model),
    parts: [
      ...Object.entries(others).map(([name, value]) => ({ name, hash: unmarked(value) })),
      ...said.map((message, n) => ({ name: `message ${n + 1}`, hash: unmarked(message) })),
    ],
    keptMs: JSON.stringify(params).includes('"ttl":"1h"') ? KEPT_MS['1h'] : KEPT_MS['5m'],
    // The server takes four marks, and the harness has set its own.
    marks: marksIn(JSON.stringify(params)) < 4 ? 'tail' : 'none',
    request: (task, _since, maxTokens) => ({
      system: [],
      tools: [],
      messages: ask(task),
      // No part of what a server caches by, so the task has its own. What the harness lets the model think comes on top:
      // a server refuses a limit below it, and to change it would break the cache.
      raw: { ...params, max_tokens: maxTokens + budgetOf(params.thinking) },
    }),
  }
}

/** More than any model thinks: a larger one is no reason to pay for it. */
const CAP_BUDGET_TOKENS = 32_000

function budgetOf(thinking: unknown): number {
  const { budget_tokens: budget } = (thinking ?? {}) as { budget_tokens?: unknown }
  return typeof budget === 'number' && Number.isSafeInteger(budget) && budget > 0
    ? Math.min(budget, CAP_BUDGET_TOKENS)
    : 0
}

/** Where a harness wants something cached moves from turn to turn and changes nothing of what is. */
function unmarked(value: unknown): string {
  return hash('sha256', JSON.stringify(value, (key, inner) => (key === 'cache_control' ? undefined : inner)) ?? '')
}

function marksIn(json: string): number {
  return json.split('"cache_control":{').length - 1
}
