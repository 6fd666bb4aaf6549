/** Lists come in pieces; where all of them are shown together, they are asked for one after another. */

type Piece<T> = { data: T[]; nextCursor?: string | null }
type Asked = { limit: number; cursor?: string }

const PAGE_SIZE = 100
/** More than this nobody reads on one page. */
const MAX_PAGES = 50

export async function everyPage<T>(askFor: (query: Asked) => Promise<Piece<T>>): Promise<T[]> {
  const all: T[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const piece = await askFor({ limit: PAGE_SIZE, cursor })
    all.push(...piece.data)
    cursor = piece.nextCursor ?? undefined
    if (!cursor) break
  }
  return all
}
