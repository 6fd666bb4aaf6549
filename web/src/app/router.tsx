import { createRouter } from '@tanstack/react-router'
import { PageSkeleton } from '../ui/Skeletons'
import { routeTree } from './routes'

/** The address says plain text, so that links can be written and read by people. */
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
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
