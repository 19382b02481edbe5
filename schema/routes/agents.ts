/** Agents: who is there, their mail, their own memories. */
import { AgentList, AgentRegistration, RegisteredAgent } from '../agent.ts'
import { AgentFileParams, AgentForgetQuery, AgentMemory, AgentParams, AgentQuery } from '../agent-memory.ts'
import { Acknowledged, Acknowledgement, Letter, MailboxParams, MailList, MailQuery, Sent } from '../mail.ts'
import { Forgotten, Memory, PutMemory, Written } from '../memory.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const agentRoutes = {
  agents: {
    ...routeTable.agents,
    summary: 'The agents on this machine, as they registered',
    answer: AgentList,
    errors: [],
  },
  registerAgent: {
    ...routeTable.registerAgent,
    summary: 'Say who one is, so that others can write to one; may be said again',
    body: AgentRegistration,
    answer: RegisteredAgent,
    errors: ['CONFLICT'],
  },
  sendMail: {
    ...routeTable.sendMail,
    summary: 'Write to another agent, or to all: it is kept until it was read',
    body: Letter,
    answer: Sent,
    errors: ['CONFLICT', 'REFUSED'],
  },
  mail: {
    ...routeTable.mail,
    summary: 'The mail that an agent or a session has not acknowledged yet; waits for some if asked to',
    params: MailboxParams,
    query: MailQuery,
    answer: MailList,
    errors: [],
  },
  acknowledgeMail: {
    ...routeTable.acknowledgeMail,
    summary: 'It was read: it does not come again',
    params: MailboxParams,
    body: Acknowledgement,
    answer: Acknowledged,
    errors: [],
  },
  agentMemory: {
    ...routeTable.agentMemory,
    summary: 'What a sub-agent is told about its own memory, with its index',
    params: AgentParams,
    query: AgentQuery,
    answer: AgentMemory,
    errors: ['REFUSED'],
  },
  agentMemoryFile: {
    ...routeTable.agentMemoryFile,
    summary: "One of a sub-agent's own memories",
    params: AgentFileParams,
    query: AgentQuery,
    answer: Memory,
    errors: ['REFUSED'],
  },
  putAgentMemory: {
    ...routeTable.putAgentMemory,
    summary: "Write one of a sub-agent's own memories",
    params: AgentFileParams,
    query: AgentQuery,
    body: PutMemory,
    answer: Written,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  forgetAgentMemory: {
    ...routeTable.forgetAgentMemory,
    summary: "Delete one of a sub-agent's own memories",
    params: AgentFileParams,
    query: AgentForgetQuery,
    answer: Forgotten,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
} as const satisfies RouteGroup
