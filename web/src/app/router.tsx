import { createRouter } from '@tanstack/react-router'
import { paths } from '../paths'
import { PageSkeleton } from '../ui/Skeletons'
import { routeTree } from './routes'

/** Query parameters are plain text rather than JSON, so that people can read and write links. */
const parseSearch = (search: string) => Object.fromEntries(new URLSearchParams(search))
const stringifySearch = (search: Record<string, unknown>) => {
  const texts = Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const query = new URLSearchParams(texts).toString()
  return query ? `?${query}` : ''
}

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  defaultPendingComponent: PageSkeleton,
  defaultPendingMs: 150,
  // The thread of the Playground follows its end.
  scrollRestoration: ({ location }) => location.pathname !== paths.playground(),
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
