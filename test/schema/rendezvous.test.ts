import { describe, expect, it } from 'vitest'
import { findPlaces } from '../../schema/rendezvous.ts'

describe('places', () => {
  it('default to the XDG folders of the home', () => {
    expect(findPlaces({ HOME: '/home/ada' })).toEqual({
      home: '/home/ada',
      configFile: '/home/ada/.config/memoryd/config.json',
      stateDir: '/home/ada/.local/state/memoryd',
      socketPath: '/home/ada/.local/state/memoryd/memoryd.sock',
      logFile: '/home/ada/.local/state/memoryd/logs/memoryd.log',
    })
  })

  it('follow XDG, then our own variables', () => {
    const xdg = { HOME: '/h', XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', XDG_RUNTIME_DIR: '/r' }
    expect(findPlaces(xdg)).toMatchObject({
      configFile: '/c/memoryd/config.json',
      stateDir: '/s/memoryd',
      socketPath: '/r/memoryd/memoryd.sock',
    })
    const own = { ...xdg, MEMORYD_CONFIG: '/x.json', MEMORYD_STATE_DIR: '/y', MEMORYD_SOCKET: '/z.sock' }
    expect(findPlaces(own)).toMatchObject({ configFile: '/x.json', stateDir: '/y', socketPath: '/z.sock' })
  })

  it('ignore empty and relative XDG values, and refuse relative values of our own', () => {
    expect(findPlaces({ HOME: '/h', XDG_STATE_HOME: 'rel', XDG_RUNTIME_DIR: '', MEMORYD_SOCKET: '' }).socketPath).toBe(
      '/h/.local/state/memoryd/memoryd.sock',
    )
    expect(() => findPlaces({ HOME: '/h', MEMORYD_STATE_DIR: 'rel' })).toThrow(
      'MEMORYD_STATE_DIR must be an absolute path',
    )
  })

  it('refuse a home that depends on where one stands', () => {
    expect(() => findPlaces({ HOME: 'home' })).toThrow('HOME must be an absolute path')
  })

  it('take a socket path of 103 bytes and refuse one of 104, counted in bytes', () => {
    const path = (bytes: number) => `/${'é'.repeat((bytes - 2) / 2)}${bytes % 2 ? 'ab' : 'a'}`.slice(0)
    expect(Buffer.byteLength(path(103))).toBe(103)
    expect(findPlaces({ HOME: '/h', MEMORYD_SOCKET: path(103) }).socketPath).toBe(path(103))
    expect(() => findPlaces({ HOME: '/h', MEMORYD_SOCKET: path(104) })).toThrow(
      'the socket path is 104 bytes long, at most 103 work',
    )
  })
})
