/** Converts between the fields of a key's forms and the API. */

import type { Key, KeyEdit, NewKey } from '../../api/keys'
import { formatCount, formatTime } from '../../ui/format'
import { pairTexts, toPairs } from '../../ui/pairs'
import { type BudgetRow, isBudget, rowsOf, toBudgets } from './budgets'
import { isModelLimit, limitRows, type ModelLimitRow, toModelLimits } from './limits'
import { permissionsOf, toPermissions } from './restrictions'

export type KeyValues = {
  name: string
  /** Days from now, or one of the words of `Lifetime`. */
  expiry: string
  permissions: string[]
  requestsPerMinute: number | undefined
  tokensPerMinute: number | undefined
  modelLimits: ModelLimitRow[]
  allowedModels: string[]
  allowedIps: string[]
  /** `name=value` */
  labels: string[]
  budgets: BudgetRow[]
  /** Whether its calls name the people behind it. */
  trustsEndUser: boolean
}

export type Lifetime = { value: string; label: string }

const DAY_MS = 86_400_000
const NEVER = ''
/** The expiry that an edited key has already. */
const KEPT = 'kept'

const LIFETIMES: Lifetime[] = [
  { value: NEVER, label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]

/** A new key only calls models, unless more is chosen. */
export const EMPTY: KeyValues = {
  name: '',
  expiry: NEVER,
  permissions: ['inference'],
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  modelLimits: [],
  allowedModels: [],
  allowedIps: [],
  labels: [],
  budgets: [],
  trustsEndUser: false,
}

/** Whether a value is set that forms show in their advanced part. */
export const hasAdvanced = (values: KeyValues) =>
  values.trustsEndUser ||
  values.requestsPerMinute !== undefined ||
  values.tokensPerMinute !== undefined ||
  [values.modelLimits, values.allowedModels, values.allowedIps, values.labels, values.budgets].some(
    (list) => list.length > 0,
  )

/** A key has a name and may do something, and its limits and budgets have amounts. */
export const isComplete = ({ name, permissions, modelLimits, budgets }: KeyValues) =>
  !!name.trim() && permissions.length > 0 && modelLimits.every(isModelLimit) && budgets.every(isBudget)

const unlessEmpty = (list: string[]) => (list.length ? list : null)

/** The choices for a new key, or for one that has an expiry. */
export const lifetimesFor = (expiresAt?: string | null): Lifetime[] =>
  expiresAt ? [{ value: KEPT, label: formatTime(expiresAt) }, ...LIFETIMES] : LIFETIMES

const after = (days: string, now: number) => new Date(now + Number(days) * DAY_MS).toISOString()

/** What new and edited keys have in common. Null restricts nothing. */
const restrictions = (values: KeyValues) => ({
  limits: { perModel: toModelLimits(values.modelLimits) },
  permissions: toPermissions(values.permissions),
  allowedModels: unlessEmpty(values.allowedModels),
  allowedIps: unlessEmpty(values.allowedIps),
  labels: toPairs(values.labels),
  budgets: toBudgets(values.budgets),
  trustsEndUser: values.trustsEndUser,
})

export const toKey = (values: KeyValues, now: number): NewKey => ({
  name: values.name.trim(),
  expiresAt: values.expiry ? after(values.expiry, now) : undefined,
  requestsPerMinute: values.requestsPerMinute,
  tokensPerMinute: values.tokensPerMinute,
  ...restrictions(values),
})

export const valuesOf = (key: Key): KeyValues => ({
  name: key.name,
  expiry: key.expiresAt ? KEPT : NEVER,
  requestsPerMinute: key.requestsPerMinute ?? undefined,
  tokensPerMinute: key.tokensPerMinute ?? undefined,
  modelLimits: limitRows(key),
  permissions: permissionsOf(key),
  allowedModels: key.allowedModels ?? [],
  allowedIps: key.allowedIps ?? [],
  labels: pairTexts(key.labels),
  budgets: rowsOf(key.budgets),
  trustsEndUser: key.trustsEndUser,
})

/** Null removes an expiry, a limit or a restriction. */
export const toEdit = (values: KeyValues, now: number): KeyEdit => ({
  name: values.name.trim(),
  ...(values.expiry === KEPT ? {} : { expiresAt: values.expiry ? after(values.expiry, now) : null }),
  requestsPerMinute: values.requestsPerMinute ?? null,
  tokensPerMinute: values.tokensPerMinute ?? null,
  ...restrictions(values),
})

/** Says that a limit of the key has no effect, because the workspace's is lower. */
export const limitHint = (own: number | undefined, ofWorkspace: number | undefined) =>
  own !== undefined && ofWorkspace !== undefined && own > ofWorkspace
    ? `Without effect: the workspace has ${formatCount(ofWorkspace)}`
    : undefined
