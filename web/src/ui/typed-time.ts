/** Times and days that are typed, in the format in which the console shows them. */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** `17 Nov 2026` or `2026-11-17`, each with or without `16:19`. */
const WORDS = /^(\d{1,2}) ([a-z]{3,9}) (\d{4})(?:,? (\d{1,2}):(\d{2}))?$/i
const DIGITS = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2}))?$/

type Parts = [year: number, month: number, day: number, hours: number, minutes: number]

function partsOf(text: string): Parts | undefined {
  const words = WORDS.exec(text.trim())
  const month = words ? MONTHS.indexOf((words[2] ?? '').slice(0, 3).toLowerCase()) : -1
  if (words && month >= 0)
    return [Number(words[3]), month, Number(words[1]), Number(words[4] ?? 0), Number(words[5] ?? 0)]
  const digits = DIGITS.exec(text.trim())
  if (!digits) return undefined
  return [Number(digits[1]), Number(digits[2]) - 1, Number(digits[3]), Number(digits[4] ?? 0), Number(digits[5] ?? 0)]
}

/** Whether a date has these parts, which 31 February has not. */
const isDate = (date: Date, [, month, day, hours, minutes]: Parts) =>
  date.getMonth() === month && date.getDate() === day && date.getHours() === hours && date.getMinutes() === minutes

/** A time of the browser's zone in RFC 3339; undefined if it is not one. */
export function parseTime(text: string): string | undefined {
  const parts = partsOf(text)
  const date = parts && new Date(...parts)
  return date && parts && isDate(date, parts) ? date.toISOString() : undefined
}

/** A day such as `2026-11-17`; undefined if it is not one. */
export function parseDay(text: string): string | undefined {
  const parts = partsOf(text)
  if (parts?.[3] !== 0 || parts[4] !== 0) return undefined
  const [year, month, day] = parts
  const date = new Date(Date.UTC(year, month, day))
  return date.getUTCMonth() === month && date.getUTCDate() === day ? date.toISOString().slice(0, 10) : undefined
}
