/** Where the palette can go. */

import { paths } from '../paths'
import { NAVIGATION, OPERATOR_NAVIGATION } from './navigation'

export type Place = { id: string; label: string; kind: string; href: string }

type Named = { id: string; name: string }
type Known = {
  isOperator: boolean
  models?: readonly Named[]
  endpoints?: readonly { name: string }[]
  keys?: readonly Named[]
  organizations?: readonly Named[]
}

const SHOWN = 12
const REQUEST_ID = /^req_\w+$/

/** All places, pages first. */
export function placesOf({ isOperator, models = [], endpoints = [], keys = [], organizations = [] }: Known): Place[] {
  const place = (kind: string, label: string, href: string) => ({ id: `${kind} ${href} ${label}`, kind, label, href })
  const groups = isOperator ? [...NAVIGATION, OPERATOR_NAVIGATION] : NAVIGATION
  return [
    ...groups.flatMap(({ group, items }) => items.map(({ name, href }) => place(group, name, href))),
    place('Help', 'Guide', paths.help()),
    place('Help', 'API', paths.help('api/index.md')),
    place('Help', 'API reference', paths.reference()),
    ...endpoints.map(({ name }) => place('Endpoint', name, paths.endpoint(name))),
    ...models.map(({ id, name }) => place('Model', name === id ? id : `${name} (${id})`, paths.model(id))),
    ...keys.map(({ id, name }) => place('Key', name, paths.key(id))),
    ...organizations.map(({ id, name }) => place('Organization', name, paths.operatorOrganization(id))),
  ]
}

/** The places that have all typed words, those that begin with the text first. A request id leads to its request. */
export function foundPlaces(all: readonly Place[], typed: string): Place[] {
  const text = typed.trim().toLowerCase()
  const words = text.split(/\s+/)
  const request = REQUEST_ID.test(typed.trim())
    ? [{ id: 'request', kind: 'Request', label: typed.trim(), href: requestHref(typed.trim()) }]
    : []
  const found = all.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
  const first = found.filter(({ label }) => label.toLowerCase().startsWith(text))
  return [...request, ...first, ...found.filter((one) => !first.includes(one))].slice(0, SHOWN)
}

const requestHref = (id: string) => paths.observability({ tab: 'requests', id, request: id })
