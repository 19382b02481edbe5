/** What the live suite has to know of each client: how it is made ready and run, and what its transcript should say. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Home } from '../support/home.ts'
import type { Telling } from '../transcripts/telling.ts'
import { installClaude, runClaude } from './claude-client.ts'
import { configureCodex, installCodex, runCodex } from './codex-client.ts'
import type { Installed } from './install.ts'
import { startModel } from './scripted-model.ts'
import { startResponses } from './scripted-responses.ts'

export type Tool = 'tool' | 'no tool'

export type LiveClient = {
  harness: string
  /** Of its transcripts, below HOME. */
  root: string
  install(): Promise<Installed>
  open(program: string, home: Home): Promise<Opened>
  /** Whether a line of its transcript, parsed, is the last of a turn. */
  endsTurn(line: unknown): boolean
  session(cwd: string): Omit<Telling['session'], 'sessionId'>
  /** The call and its result as they are told. */
  toolTold: unknown[]
  /** What one answer of its model cost, as it is told for so many of them. */
  usage(answers: number): string
  tokensPerAnswer: number
}

export type Opened = {
  /** The next turn: a call of the shell if so, then these words. */
  say(answer: string, tool: Tool): void
  run(prompt: string, cwd: string, resume: string | undefined): Promise<unknown>
  /** All that the model was asked. */
  asked(): unknown[]
}

const COMMAND = 'echo from the shell'

/** Stands before the model whenever a session begins or a prompt is sent, and was not said by a person. */
export const PROBE = 'INJECTED-PROBE-4711'

const hooks = Object.fromEntries(
  ['SessionStart', 'UserPromptSubmit'].map((hookEventName) => {
    const output = JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext: PROBE } })
    return [hookEventName, [{ hooks: [{ type: 'command', command: `cat > /dev/null; printf %s '${output}'` }] }]]
  }),
)

const claude: LiveClient = {
  harness: 'claude-code',
  root: '.claude/projects',
  install: installClaude,
  open: async (program, home) => {
    const model = await startModel()
    mkdirSync(join(home.dir, '.claude'))
    writeFileSync(join(home.dir, '.claude', 'settings.json'), JSON.stringify({ hooks }))
    const input = { command: COMMAND, description: 'Says it' }
    return {
      say: (text, tool) => {
        if (tool === 'tool') model.say([{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input }])
        model.say([{ type: 'text', text }])
      },
      run: (prompt, cwd, resume) =>
        runClaude(program, { home, model }, { cwd, prompt, allowedTools: 'Bash', ...(resume && { resume }) }),
      asked: () => model.requests,
    }
  },
  endsTurn: (line) => (line as { message?: { stop_reason?: string } }).message?.stop_reason === 'end_turn',
  session: (cwd) => ({ cwd, branch: 'main', interactive: false }),
  toolTold: [`agent calls Bash: ${COMMAND}`, 'tool: from the shell'],
  usage: (answers) => `${answers} in ${answers} out`,
  tokensPerAnswer: 2,
}

const codex: LiveClient = {
  harness: 'codex',
  root: '.codex/sessions',
  install: installCodex,
  open: async (program, home) => {
    const model = await startResponses()
    configureCodex(home, { url: model.url, hooks })
    return {
      say: (text, tool) => {
        if (tool === 'tool') model.say({ call: 'call_1', name: 'exec_command', input: { cmd: COMMAND } })
        model.say({ text })
      },
      run: (prompt, cwd, resume) => runCodex(program, home, { cwd, prompt, ...(resume && { resume }) }),
      asked: () => model.requests,
    }
  },
  endsTurn: (line) => (line as { payload?: { type?: string } }).payload?.type === 'task_complete',
  session: (cwd) => ({
    cwd,
    branch: 'main',
    startedAt: expect.any(Number),
    interactive: false,
    model: 'gpt-5.1-codex',
  }),
  toolTold: [`agent calls exec_command: ${COMMAND}`, expect.stringMatching(/^tool: .*\nfrom the shell\n$/s)],
  // What came from the cache is part of what went in, and told apart from it.
  usage: (answers) => `${60 * answers} in ${20 * answers} out ${40 * answers} read 0 written`,
  tokensPerAnswer: 120,
}

export const liveClients = [claude, codex]
