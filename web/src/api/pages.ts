/** Fetches a whole paginated list, page by page. */

type Page<T> = { data: T[]; nextCursor?: string | null }
type PageQuery = { limit: number; cursor?: string }

const PAGE_SIZE = 100
/** Bounds the number of requests per list. */
const MAX_PAGES = 50

export async function everyPage<T>(fetchPage: (query: PageQuery) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = []
  let cursor: string | undefined
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const page = await fetchPage({ limit: PAGE_SIZE, cursor })
    all.push(...page.data)
    cursor = page.nextCursor ?? undefined
    if (!cursor) break
  }
  return all
}
