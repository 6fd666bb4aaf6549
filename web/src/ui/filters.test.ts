import { describe, expect, it } from 'vitest'
import { day, oneOf, readFilters, text, writeFilters } from './filters'

const filters = { q: text(), view: oneOf(['cards', 'table']), from: day() }

describe('readFilters', () => {
  it('reads what is valid and takes defaults for the rest', () => {
    const search = { q: 'tiny', view: 'list', from: '2026-13-45', other: 'x' }
    expect(readFilters(filters, search)).toEqual({ q: 'tiny', view: 'cards', from: '' })
  })
  it('is not confused by other types', () => {
    expect(readFilters(filters, { q: ['a'], view: 7 })).toEqual({ q: '', view: 'cards', from: '' })
  })
})

describe('writeFilters', () => {
  it('leaves defaults out and keeps what it does not know', () => {
    expect(writeFilters(filters, { q: 'tiny', view: 'table', tab: 'x' }, { view: 'cards' })).toEqual({
      q: 'tiny',
      tab: 'x',
    })
  })
  it('takes away what is emptied', () => {
    expect(writeFilters(filters, { q: 'tiny' }, { q: '' })).toEqual({})
  })
})
