/** Where the palette can go. */

import { paths } from '../paths'
import { NAVIGATION, OPERATOR_NAVIGATION } from './navigation'

/** `isFound` is what the server found for the typed text, also by what the label does not show. */
export type Place = { id: string; label: string; kind: string; href: string; isFound?: boolean }

type Named = { id: string; name: string }
type Known = {
  isOperator: boolean
  models?: readonly Named[]
  endpoints?: readonly { name: string }[]
  keys?: readonly Named[]
  organizations?: readonly Named[]
  /** Whether endpoints, keys and organizations are those that the server found for the typed text. */
  areFound?: boolean
}

const SHOWN = 12
const REQUEST_ID = /^req_\w+$/

/** All places, pages first. */
export function placesOf(known: Known): Place[] {
  const { isOperator, models = [], endpoints = [], keys = [], organizations = [], areFound } = known
  const place = (kind: string, label: string, href: string) => ({ id: `${kind} ${href} ${label}`, kind, label, href })
  const found = (kind: string, label: string, href: string) => ({ ...place(kind, label, href), isFound: areFound })
  const groups = isOperator ? [...NAVIGATION, OPERATOR_NAVIGATION] : NAVIGATION
  return [
    ...groups.flatMap(({ group, items }) => items.map(({ name, href }) => place(group, name, href))),
    place('Help', 'Guide', paths.help()),
    place('Help', 'API', paths.help('api/index.md')),
    place('Help', 'API reference', paths.reference()),
    ...endpoints.map(({ name }) => found('Endpoint', name, paths.endpoint(name))),
    ...models.map(({ id, name }) => place('Model', name === id ? id : `${name} (${id})`, paths.model(id))),
    ...keys.map(({ id, name }) => found('Key', name, paths.key(id))),
    ...organizations.map(({ id, name }) => found('Organization', name, paths.operatorOrganization(id))),
  ]
}

/**
 * The places that begin with the text, those that have all typed words, and what the server found. A request id leads to its
 * request.
 */
export function foundPlaces(all: readonly Place[], typed: string): Place[] {
  const text = typed.trim().toLowerCase()
  const words = text.split(/\s+/)
  const request = REQUEST_ID.test(typed.trim())
    ? [{ id: 'request', kind: 'Request', label: typed.trim(), href: requestHref(typed.trim()) }]
    : []
  const rankOf = ({ label, isFound }: Place) => {
    if (label.toLowerCase().startsWith(text)) return 0
    if (words.every((word) => label.toLowerCase().includes(word))) return 1
    return isFound ? 2 : undefined
  }
  const found = [0, 1, 2].flatMap((rank) => all.filter((place) => rankOf(place) === rank))
  return [...request, ...found].slice(0, SHOWN)
}

const requestHref = (id: string) => paths.observability({ tab: 'requests', id, request: id })
