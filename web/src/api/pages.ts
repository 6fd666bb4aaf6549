/** Lists that come page by page. */

import { notifications } from '@mantine/notifications'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { formatCount } from '../ui/format'

export type Page<T> = { data: T[]; nextCursor?: string | null; total?: number }
type PageQuery = { limit: number; cursor?: string }

/** The most that `/api` returns at once; `/v1` returns less. */
const PAGE_SIZE = 500
/** Bounds the number of requests per list. */
const MAX_PAGES = 50
const TABLE_PAGE_SIZE = 50

/** Fetches a whole list; says so if it is cut off. */
export async function everyPage<T>(fetchPage: (query: PageQuery) => Promise<Page<T>>, limit = PAGE_SIZE): Promise<T[]> {
  const all: T[] = []
  let cursor: string | undefined
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const page = await fetchPage({ limit, cursor })
    all.push(...page.data)
    cursor = page.nextCursor ?? undefined
    if (!cursor) return all
  }
  notifications.show({
    id: 'list-cut-off',
    color: 'yellow',
    title: 'The list is cut off',
    message: `It has more than ${formatCount(all.length)} entries; only these are shown.`,
  })
  return all
}

/** What the server finds for a table, and in which order. */
export type ListQuery = { search?: string; sort?: string }

/** A table that the server searches and sorts. */
type Table<T> = {
  queryKey: readonly unknown[]
  fetchPage: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>
}

/** Only the first page counts all rows. */
export const tableQuery = <T>(
  queryKey: readonly unknown[],
  { search, sort }: ListQuery,
  fetchPage: (query: PageQuery & ListQuery & { count?: boolean }, signal: AbortSignal) => Promise<Page<T>>,
): Table<T> => ({
  queryKey: [...queryKey, 'table', search, sort],
  fetchPage: (cursor, signal) => {
    const query = { search: search || undefined, sort: sort || undefined, limit: TABLE_PAGE_SIZE, cursor }
    return fetchPage(cursor ? query : { ...query, count: true }, signal)
  },
})

/** The rows of a table that have arrived, and how to load more. */
export function useTable<T>({ queryKey, fetchPage }: Table<T>, polling: { refetchInterval?: number } = {}) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) => fetchPage(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    ...polling,
  })
  const { data, error, refetch } = query
  const rows = data && {
    rows: data.pages.flatMap((page) => page.data),
    total: data.pages[0]?.total,
    hasMore: query.hasNextPage,
    isLoading: query.isFetchingNextPage,
    onMore: () => void query.fetchNextPage(),
  }
  return { data: rows, error, refetch }
}
