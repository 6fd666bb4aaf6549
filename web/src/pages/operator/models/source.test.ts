import { describe, expect, it } from 'vitest'
import { usesOf } from './source'

describe('uses of a model', () => {
  it('are listed', () =>
    expect(usesOf({ aliases: ['gpt', 'claude-*'], workspaceAliases: 1, endpoints: 2, flavors: [] })).toBe(
      'the catalogue’s aliases gpt, claude-*, 1 alias of a workspace, 2 dedicated endpoints',
    ))
  it('may be none', () => {
    expect(usesOf({ aliases: [], workspaceAliases: 0, endpoints: 0, flavors: [] })).toBeUndefined()
    expect(usesOf(undefined)).toBeUndefined()
  })
})
