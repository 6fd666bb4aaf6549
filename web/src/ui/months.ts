/** Calendar months in UTC, the billing periods of the API. */

const LABEL = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })

export const monthOf = (now: number): string => new Date(now).toISOString().slice(0, 7)

/** The current and previous months, newest first. */
export function monthsUpTo(now: number, count: number): { value: string; label: string }[] {
  const date = new Date(now)
  return Array.from({ length: count }, (_, back) => {
    const month = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back, 1))
    return { value: monthOf(month.getTime()), label: LABEL.format(month) }
  })
}

/** Start of the month and start of the next one. */
export function spanOf(month: string): { from: string; to: string } {
  const [year = 1970, number = 1] = month.split('-').map(Number)
  const start = (months: number) => new Date(Date.UTC(year, number - 1 + months, 1)).toISOString()
  return { from: start(0), to: start(1) }
}

export const isMonth = (text: string): text is string => /^\d{4}-(0[1-9]|1[0-2])$/.test(text)
