import { describe, expect, it } from 'vitest'
import {
  type ContextVariables,
  compactionOff,
  modelName,
  percentLeft,
  roomOf,
  statesAt,
  windowOf,
} from '../../daemon/context/thresholds.ts'

const facts = { model: 'm', known: undefined, betas: [], variables: {} }

describe('the window', () => {
  it.each([
    [
      'the suffix before all',
      { ...facts, model: 'm[1m]', known: 50_000, variables: { MEMORYD_CONTEXT_WINDOW: '1' } },
      1_000_000,
    ],
    ['what is known of the model', { ...facts, known: 50_000, betas: ['context-1m-2025-08-07'] }, 50_000],
    [
      'the header',
      { ...facts, betas: ['x', 'context-1m-2025-08-07'], variables: { MEMORYD_CONTEXT_WINDOW: '7' } },
      1_000_000,
    ],
    ['the variable', { ...facts, variables: { MEMORYD_CONTEXT_WINDOW: '70000' } }, 70_000],
    ['no variable that is no number', { ...facts, variables: { MEMORYD_CONTEXT_WINDOW: '70k' } }, 200_000],
    ['no variable that is nothing', { ...facts, variables: { MEMORYD_CONTEXT_WINDOW: '0' } }, 200_000],
    ['what is usual', facts, 200_000],
  ])('follows %s', (_what, given, window) => {
    expect(windowOf(given)).toBe(window)
  })

  it('is no part of the name of a model', () => {
    expect(modelName('claude-sonnet-5-5[1m]')).toBe('claude-sonnet-5-5')
  })
})

describe('thresholds', () => {
  it('are those of the table for a window of 200,000', () => {
    expect(roomOf(200_000, {})).toEqual({
      window: 200_000,
      effective: 180_000,
      thresholds: { warning: 160_000, error: 160_000, autoCompact: 167_000, blocked: 177_000 },
    })
  })

  it.each([
    [159_999, [false, false, false, false]],
    [160_000, [true, true, false, false]],
    [166_999, [true, true, false, false]],
    [167_000, [true, true, true, false]],
    [176_999, [true, true, true, false]],
    [177_000, [true, true, true, true]],
  ])('hold from themselves on: %i', (tokens, states) => {
    expect(Object.values(statesAt(tokens, roomOf(200_000, {})))).toEqual(states)
  })

  it.each([
    ['50', 90_000],
    ['33.3', 59_940],
    ['92.7', 166_860],
    ['92.8', 167_000],
    ['100', 167_000],
    ['100.1', 167_000],
    ['0', 167_000],
    ['-5', 167_000],
    ['half', 167_000],
    ['', 167_000],
    ['0.001', 1],
  ])('of auto-compaction are lowered by %j percent to %i, and never raised', (percent, tokens) => {
    const variables: ContextVariables = { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: percent }
    expect(roomOf(200_000, variables).thresholds.autoCompact).toBe(tokens)
  })

  it.each([
    [0, 100],
    [90_000, 50],
    [180_000, 0],
    [500_000, 0],
  ])('leave of %i tokens %i percent', (tokens, percent) => {
    expect(percentLeft(tokens, roomOf(200_000, {}))).toBe(percent)
  })

  it('are never below nothing', () => {
    expect(roomOf(10_000, {})).toMatchObject({ effective: 0, thresholds: { blocked: 0 } })
    expect(percentLeft(1, roomOf(10_000, {}))).toBe(0)
  })
})

describe('compaction', () => {
  const on = { enabled: true, autoCompact: true }
  it.each<[string, 'auto' | 'manual', ContextVariables, typeof on, string | undefined]>([
    ['is on', 'auto', {}, on, undefined],
    ['is off for all', 'manual', { DISABLE_COMPACT: '1' }, on, 'DISABLE_COMPACT is set'],
    ['is off for automatic ones', 'auto', { DISABLE_AUTO_COMPACT: 'true' }, on, 'DISABLE_AUTO_COMPACT is set'],
    ['is on for a person then', 'manual', { DISABLE_AUTO_COMPACT: 'true' }, on, undefined],
    [
      'is not off by a variable that says no',
      'auto',
      { DISABLE_COMPACT: '0', DISABLE_AUTO_COMPACT: 'false' },
      on,
      undefined,
    ],
    ['is off by the setting', 'auto', {}, { ...on, autoCompact: false }, 'context.autoCompact is false'],
    ['is on for a person by the setting', 'manual', {}, { ...on, autoCompact: false }, undefined],
    ['is off with all of it', 'manual', {}, { ...on, enabled: false }, 'context.enabled is false'],
  ])('%s', (_what, trigger, variables, settings, off) => {
    expect(compactionOff(trigger, variables, settings)).toBe(off)
  })
})
