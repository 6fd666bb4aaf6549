/** What a key may do, as text and as values of its forms. */

import type { Key } from '../../api/keys'
import { formatCount } from '../../ui/format'

export const PERMISSIONS = [
  { value: 'inference', label: 'Call models' },
  { value: 'endpoints:read', label: 'See dedicated endpoints' },
  { value: 'endpoints:write', label: 'Create, change and delete dedicated endpoints' },
]

const ALL = PERMISSIONS.map(({ value }) => value)

export const permissionsOf = ({ permissions }: Pick<Key, 'permissions'>) => permissions ?? ALL

/** `Call models; see dedicated endpoints`. */
export function permissionsText(key: Pick<Key, 'permissions'>) {
  const chosen = permissionsOf(key)
  const labels = PERMISSIONS.filter(({ value }) => chosen.includes(value)).map(({ label }) => label)
  return labels.map((label, index) => (index ? label.charAt(0).toLowerCase() + label.slice(1) : label)).join('; ')
}

/** Null if nothing is left out: the key may do everything. */
export const toPermissions = (chosen: string[]) => (ALL.every((one) => chosen.includes(one)) ? null : chosen)

const SHOWN = 2

/** The first entries of a list, and how many more there are. */
const listed = (entries: string[]) => {
  const rest = entries.length - SHOWN
  return entries.slice(0, SHOWN).join(', ') + (rest > 0 ? ` and ${formatCount(rest)} more` : '')
}

/** What the key may do; undefined if that is everything. */
export function accessOf({
  permissions,
  allowedModels,
  allowedIps,
}: Pick<Key, 'permissions' | 'allowedModels' | 'allowedIps'>) {
  const chosen = permissions ?? ALL
  const mayCall = chosen.includes('inference')
  const endpoints = chosen.includes('endpoints:write')
    ? 'changes endpoints'
    : chosen.includes('endpoints:read')
      ? 'sees endpoints'
      : undefined
  const models = allowedModels ? listed(allowedModels) : 'all models'
  const parts = [
    mayCall ? `calls ${models}` : undefined,
    endpoints,
    allowedIps ? `from ${listed(allowedIps)}` : undefined,
  ].filter((part) => part !== undefined)
  if (!permissions && !allowedModels && !allowedIps) return undefined
  const text = parts.join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
