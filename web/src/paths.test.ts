import { describe, expect, it } from 'vitest'
import { paths, safeNext } from './paths'

describe('paths', () => {
  it('keeps the slash of a Model ID and encodes the rest', () => {
    expect(paths.model('acme/tiny chat?')).toBe('/models/acme/tiny%20chat%3F')
  })
  it('omits empty parameters', () => {
    expect(paths.models({ q: '', provider: 'acme', status: undefined })).toBe('/models?provider=acme')
  })
  it('adds no return path for the home page', () => {
    expect(paths.signIn('/')).toBe('/sign-in')
    expect(paths.signIn('/sign-in?next=%2Fkeys')).toBe('/sign-in')
    expect(paths.signIn('/keys?state=active')).toBe('/sign-in?next=%2Fkeys%3Fstate%3Dactive')
  })
})

describe('safeNext', () => {
  it.each([
    ['/costs?from=2026-01-01', '/costs?from=2026-01-01'],
    ['https://evil.example', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['/\r\n/evil.example', '/'],
    ['/keys\0', '/'],
    ['/keys\x7f', '/'],
    ['/sign-in?next=/x', '/'],
    [undefined, '/'],
  ])('%s leads to %s', (next, expected) => {
    expect(safeNext(next)).toBe(expected)
  })
})
