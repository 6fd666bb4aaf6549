/** Formats numbers, money and time. Money never passes through a float. */

const LOCALE = 'en-GB'
/** Shared, because making one takes much longer than using it. */
const WHOLE = new Intl.NumberFormat(LOCALE)
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
const SHARES = [0, 1, 2, 3].map(
  (maximumFractionDigits) => new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits }),
)
const timeIn = (timeZone?: string) =>
  new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium', timeZone })
const TIME = timeIn()
const MINUTE = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'short' })
const CLOCK = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'short' })
const DAY_IN_UTC = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone: 'UTC' })
const NANO_DIGITS = 9
const NANO = 10n ** BigInt(NANO_DIGITS)

/** Parses decimal dollars into nano-dollars, rounding further digits half up; undefined if not a number. */
export function nanoUsd(text: string): bigint | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text.trim())
  if (!match) return undefined
  const [, sign, whole = '0', fraction = ''] = match
  const kept = BigInt(whole) * NANO + BigInt(fraction.slice(0, NANO_DIGITS).padEnd(NANO_DIGITS, '0'))
  const rounded = (fraction[NANO_DIGITS] ?? '0') >= '5' ? kept + 1n : kept
  return sign ? -rounded : rounded
}

/** An amount: two decimals from one dollar, four from one cent, three significant digits below. */
export function formatMoney(usd: string): string {
  const nano = nanoUsd(usd)
  return nano === undefined ? usd : formatNano(nano)
}

/** The same for an amount in billionths of a dollar. */
export function formatNano(nano: bigint): string {
  const size = nano < 0n ? -nano : nano
  const below = Math.min(NANO_DIGITS, NANO_DIGITS + 3 - String(size).length)
  const digits = size >= NANO || size === 0n ? 2 : size >= NANO / 100n ? 4 : below
  return dollars(nano, digits)
}

/** An amount as a headline: `< $0.01` below one cent. */
export function formatCents(usd: string): string {
  const nano = nanoUsd(usd)
  return nano !== undefined && nano > 0n && nano < NANO / 100n ? '< $0.01' : formatMoney(usd)
}

/** A price: exact, with at least two decimals. */
export function formatPrice(usd: string): string {
  const nano = nanoUsd(usd)
  return nano === undefined ? usd : dollars(nano, NANO_DIGITS)
}

function dollars(nano: bigint, digits: number): string {
  const unit = 10n ** BigInt(NANO_DIGITS - digits)
  const size = nano < 0n ? -nano : nano
  const rounded = ((size + unit / 2n) / unit) * unit
  const whole = WHOLE.format(rounded / NANO)
  const fraction = (rounded % NANO).toString().padStart(NANO_DIGITS, '0').slice(0, digits)
  return `${nano < 0n ? '−' : ''}$${whole}.${fraction.slice(0, 2)}${fraction.slice(2).replace(/0+$/, '')}`
}

/** `1,234,567`. */
export const formatCount = (count: number) => WHOLE.format(count)

/** `1.2M`, for tiles and axes. */
export const formatCompact = (count: number) => COMPACT.format(count)

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB']

/** `820 B`, `1.24 MiB`, `37.5 GiB`: three digits. */
export function formatBytes(bytes: number): string {
  let [size, unit] = [bytes, 'B']
  for (const next of UNITS) {
    if (size < 999.5) break
    size /= 1_024
    unit = next
  }
  return `${Number(size.toPrecision(3)).toLocaleString(LOCALE)} ${unit}`
}

const LEAST_SHARE = 0.0001

/** A share between 0 and 1 as `42%`, `4.2%`, `0.26%`, `0.075%`, `<0.01%`. */
export function formatShare(share: number): string {
  const size = Math.abs(share)
  if (share > 0 && share < LEAST_SHARE) return '<0.01%'
  const digits = size >= 0.1 ? 0 : size >= 0.01 ? 1 : size >= 0.001 ? 2 : 3
  return SHARES[digits]?.format(share) ?? ''
}

/** How busy GPUs were. Where nothing was measured, 0 would be a claim. */
export const formatBusy = ({
  utilization,
  utilizationMeasured,
}: {
  utilization: number
  utilizationMeasured: boolean
}) => (utilizationMeasured ? formatShare(utilization) : 'not measured')

/** Formats decimal hours of the API with at most four decimals. */
export const formatHours = (hours: string) => Number(hours).toLocaleString(LOCALE, { maximumFractionDigits: 4 })

/** `820 ms`, `1.24 s`, `2 min 5 s`, `3 h 12 min`, `4 d 3 h`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`
  if (ms < 59_950) return `${Number((ms / 1_000).toPrecision(3))} s`
  const seconds = Math.round(ms / 1_000)
  const steps: [number, string, number, string][] = [
    [86_400, 'd', 3_600, 'h'],
    [3_600, 'h', 60, 'min'],
    [60, 'min', 1, 's'],
  ]
  const [large, largeName, small, smallName] = steps.find(([size]) => seconds >= size) ?? [60, 'min', 1, 's']
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)} ${largeName}${rest ? ` ${rest} ${smallName}` : ''}`
}

function formatDate(iso: string, format: Intl.DateTimeFormat): string {
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? iso : format.format(date)
}

/** `15 Nov 2026, 08:52:10`, in the browser's time zone by default. */
export const formatTime = (iso: string, timeZone?: string) => formatDate(iso, timeZone ? timeIn(timeZone) : TIME)

/** `15 Nov 2026, 16:38`, in the browser's zone. */
export const formatMinute = (iso: string) => formatDate(iso, MINUTE)

/** `16:38`. */
export const formatClock = (ms: number) => CLOCK.format(ms)

/** `15 Nov 2026`, in UTC. */
export const formatDay = (iso: string) => formatDate(iso, DAY_IN_UTC)

/** `just now`, `3 min ago`, `in 2 d`; undefined beyond 30 days, when the date is more useful. */
export function formatAgo(iso: string, now: number): string | undefined {
  const ms = new Date(iso).getTime() - now
  const size = Math.abs(ms)
  if (Number.isNaN(ms) || size > 30 * 86_400_000) return undefined
  if (size < 10_000) return 'just now'
  const [unit, name] =
    (
      [
        [86_400_000, 'd'],
        [3_600_000, 'h'],
        [60_000, 'min'],
      ] as const
    ).find(([unit]) => size >= unit) ?? ([1_000, 's'] as const)
  const text = `${Math.floor(size / unit)} ${name}`
  return ms < 0 ? `${text} ago` : `in ${text}`
}

/** A message of the API as a sentence among others. A name at its beginning, such as a host, stays as it is. */
export const sentence = (message: string) =>
  `${message.replace(/^[a-z](?=[a-z]*\s)/, (letter) => letter.toUpperCase())}${/[.!?]$/.test(message) ? '' : '.'}`
