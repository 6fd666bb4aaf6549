/** Every path of the console. All links are built here. */

type Query = Record<string, string | undefined>

/** Appends a query string, omitting undefined and empty values. */
export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value)
  const text = search.toString()
  return text ? `${path}?${text}` : path
}

/** Encodes an id but keeps its slashes: `/models/acme/tiny-chat`. */
const withSlashes = (id: string) => id.split('/').map(encodeURIComponent).join('/')

export const paths = {
  home: () => '/',
  signIn: (next?: string) => withQuery('/sign-in', { next: safeNext(next).replace(/^\/$/, '') }),
  invitation: () => '/invitation',
  models: (query: Query = {}) => withQuery('/models', query),
  model: (id: string, query: Query = {}) => withQuery(`/models/${withSlashes(id)}`, query),
  playground: (query: Query = {}) => withQuery('/playground', query),
  keys: (query: Query = {}) => withQuery('/keys', query),
  key: (id: string) => `/keys/${encodeURIComponent(id)}`,
  endpoints: (query: Query = {}) => withQuery('/endpoints', query),
  newEndpoint: (query: Query = {}) => withQuery('/endpoints/new', query),
  endpoint: (name: string, query: Query = {}) => withQuery(`/endpoints/${encodeURIComponent(name)}`, query),
  batches: (query: Query = {}) => withQuery('/batches', query),
  batch: (id: string) => `/batches/${encodeURIComponent(id)}`,
  costs: (query: Query = {}) => withQuery('/costs', query),
  observability: (query: Query = {}) => withQuery('/observability', query),
  members: (query: Query = {}) => withQuery('/members', query),
  audit: (query: Query = {}) => withQuery('/audit', query),
  settings: (query: Query = {}) => withQuery('/settings', query),
  /** `page` is a path in the folder of documents, such as `costs.md#caching`. */
  help: (page = '') => `/help${page && `/${page.replace('.md', '')}`}`,
  reference: () => '/help/api/reference',
  operator: () => '/operator',
  operatorModels: () => '/operator/models',
  addModel: () => '/operator/models/new',
  operatorModel: (id: string) => `/operator/models/${withSlashes(id)}`,
  operatorOrganizations: () => '/operator/organizations',
  operatorOrganization: (id: string) => `/operator/organizations/${encodeURIComponent(id)}`,
  /** `part` is the id of a panel. */
  operatorHealth: (part = '') => `/operator/health${part && `#${part}`}`,
  operatorUsers: () => '/operator/users',
} as const

/** Browsers drop tabs and line breaks from addresses, which would turn `/\t/host` into `//host`. */
const hasControl = (text: string) => [...text].some((letter) => letter < ' ' || letter === '\x7f')

/** Where to go after sign-in. Only paths of this console are accepted, to prevent open redirects. */
export function safeNext(next: string | null | undefined): string {
  if (!next?.startsWith('/') || next.startsWith('//') || next.includes('\\') || hasControl(next)) return paths.home()
  return next.startsWith('/sign-in') ? paths.home() : next
}
