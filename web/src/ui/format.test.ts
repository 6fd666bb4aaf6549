import { describe, expect, it } from 'vitest'
import {
  formatAgo,
  formatBusy,
  formatBytes,
  formatCents,
  formatCompact,
  formatCount,
  formatDuration,
  formatHours,
  formatMoney,
  formatPrice,
  formatShare,
  formatTime,
  nanoUsd,
  sentence,
} from './format'

describe('money', () => {
  it.each([
    ['0', '$0.00'],
    ['0.000000001', '$0.000000001'],
    ['0.000167708', '$0.000168'],
    ['0.0012', '$0.0012'],
    ['0.0099999', '$0.01'],
    ['0.05', '$0.05'],
    ['0.12345', '$0.1235'],
    ['1234.5', '$1,234.50'],
    ['9007199254740993.005', '$9,007,199,254,740,993.01'],
    ['-3.456', '−$3.46'],
    ['n/a', 'n/a'],
  ])('%s is shown as %s', (text, shown) => expect(formatMoney(text)).toBe(shown))
  it('names less than a cent as such in headlines', () =>
    expect(['0', '0.00000096', '0.01', '12.5'].map(formatCents)).toEqual(['$0.00', '< $0.01', '$0.01', '$12.50']))

  it.each([
    ['0.02', '$0.02'],
    ['0.1', '$0.10'],
    ['0.0375', '$0.0375'],
    ['15', '$15.00'],
  ])('the price %s is shown exactly: %s', (text, shown) => expect(formatPrice(text)).toBe(shown))

  it('rounds past nano-dollars half up', () => {
    expect(nanoUsd('0.0000000015')).toBe(2n)
    expect(nanoUsd('0.0000000014')).toBe(1n)
  })
})

describe('numbers', () => {
  it('separates thousands', () => expect(formatCount(1_234_567)).toBe('1,234,567'))
  it('shortens', () =>
    expect([formatCompact(50_000_000), formatCompact(200_000), formatCompact(1_250)]).toEqual(['50M', '200K', '1.3K']))
  it('shares', () =>
    expect([0, 0.00003, 0.00075, 0.0026, 0.023, 0.42].map(formatShare)).toEqual([
      '0%',
      '<0.01%',
      '0.075%',
      '0.26%',
      '2.3%',
      '42%',
    ]))
  it('hours', () => expect(['0', '0.03852', '1234.5'].map(formatHours)).toEqual(['0', '0.0385', '1,234.5']))
})

describe('durations', () => {
  it.each([
    [0.42, '0.4 ms'],
    [820.4, '820 ms'],
    [999.6, '1 s'],
    [1_240, '1.24 s'],
    [59_990, '1 min'],
    [125_000, '2 min 5 s'],
    [11_520_000, '3 h 12 min'],
    [356_400_000, '4 d 3 h'],
  ])('%d ms is %s', (ms, shown) => expect(formatDuration(ms)).toBe(shown))
})

describe('time', () => {
  const now = Date.parse('2026-11-15T12:00:00Z')
  it('shows the date in a time zone', () =>
    expect(formatTime('2026-11-15T08:52:10Z', 'UTC')).toBe('15 Nov 2026, 08:52:10'))
  it.each([
    ['2026-11-15T11:59:55Z', 'just now'],
    ['2026-11-15T11:57:00Z', '3 min ago'],
    ['2026-11-13T11:00:00Z', '2 d ago'],
    ['2026-11-16T12:00:00Z', 'in 1 d'],
    ['2025-11-16T12:00:00Z', undefined],
  ])('%s is %s', (iso, shown) => expect(formatAgo(iso, now)).toBe(shown))
})

describe('sizes', () => {
  it.each([
    [0, '0 B'],
    [820, '820 B'],
    [1_000, '0.977 KiB'],
    [1_300_000, '1.24 MiB'],
    [105_000_000, '100 MiB'],
    [2_000 * 2 ** 20, '1.95 GiB'],
    [4_096 * 2 ** 40, '4,100 TiB'],
  ])('%d bytes are %s', (bytes, shown) => expect(formatBytes(bytes)).toBe(shown))
})

it('makes a sentence of a message', () => {
  expect(sentence('the service is unreachable')).toBe('The service is unreachable.')
  expect(sentence('gpu-1.example.com refused the connection')).toBe('gpu-1.example.com refused the connection.')
  expect(sentence('Wrong key.')).toBe('Wrong key.')
})

it('shows GPUs as not measured where no hardware reports them, never as idle (SPEC 2.6)', () => {
  expect(formatBusy({ utilization: 0, utilizationMeasured: false })).toBe('not measured')
  expect(formatBusy({ utilization: 0, utilizationMeasured: true })).toBe('0%')
})
