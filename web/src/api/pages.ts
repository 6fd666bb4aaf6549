/** Fetches a whole paginated list, page by page. */

type Page<T> = { data: T[]; nextCursor?: string | null }
type PageQuery = { limit: number; cursor?: string }

/** The most that `/api` returns at once; `/v1` returns less. */
const PAGE_SIZE = 500
/** Bounds the number of requests per list. */
const MAX_PAGES = 50

export async function everyPage<T>(fetchPage: (query: PageQuery) => Promise<Page<T>>, limit = PAGE_SIZE): Promise<T[]> {
  const all: T[] = []
  let cursor: string | undefined
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const page = await fetchPage({ limit, cursor })
    all.push(...page.data)
    cursor = page.nextCursor ?? undefined
    if (!cursor) break
  }
  return all
}
