/** The guide, which is part of the console, so that it needs no network and fits the version. */

const FOLDER = '../../../../docs/'

/** Loads a page by its path, such as `concepts/index.md`. Those of the reference have a page of their own: see `reference.ts`. */
const PAGES = import.meta.glob<string>(['../../../../docs/**/*.md', '!../../../../docs/api/reference/*'], {
  query: '?raw',
  import: 'default',
})
const IMAGES = import.meta.glob<string>('../../../../docs/images/*', { query: '?url', import: 'default', eager: true })
const EXAMPLE = import.meta.glob<string>('../../../../config/example.toml', { query: '?raw', import: 'default' })

export const HOME = 'index.md'
export const REFERENCE = 'api/reference/index.md'
const SUMMARY = 'SUMMARY.md'
const INCLUDED = /\{\{#include [^}]*example\.toml\}\}/

/** Whether a page is part of the guide. */
export const hasPage = (path: string) => `${FOLDER}${path}` in PAGES

/** The text of a page; undefined if there is none. */
export async function pageText(path: string): Promise<string | undefined> {
  const text = await PAGES[`${FOLDER}${path}`]?.()
  if (!text || !INCLUDED.test(text)) return text
  const [load] = Object.values(EXAMPLE)
  const example = (await load?.()) ?? ''
  return text.replace(INCLUDED, () => example)
}

export const imageUrl = (path: string): string | undefined => IMAGES[`${FOLDER}${path}`]

/** The pages in order, with the headings of their groups. */
export type Entry = { title: string; path?: string; depth: number }

export const contents = async (): Promise<Entry[]> => entriesOf((await pageText(SUMMARY)) ?? '').filter(isShown)

const isShown = ({ path }: Entry) => path === undefined || path === REFERENCE || hasPage(path)

export function entriesOf(summary: string): Entry[] {
  return summary.split('\n').flatMap((line) => {
    const group = /^# (.+)$/.exec(line)?.[1]
    if (group) return group === 'Summary' ? [] : [{ title: group, depth: 0 }]
    const [, indent = '', title, path] = /^( *)(?:- )?\[(.+?)\]\((.+?)\)/.exec(line) ?? []
    return title && path ? [{ title, path, depth: 1 + indent.length / 2 }] : []
  })
}

/** The path that a link of a page means: `../limits.md#a` in `concepts/index.md` is `limits.md#a`. Undefined beyond the guide. */
export function resolved(from: string, href: string): string | undefined {
  const url = new URL(href, `http://guide/docs/${from}`)
  if (url.origin !== 'http://guide' || !url.pathname.startsWith('/docs/')) return undefined
  return url.pathname.slice('/docs/'.length) + url.hash
}

/** Title and text of a page, which begins with its title. */
export function splitTitle(text: string): { title: string; body: string } {
  const [, title = 'Guide', body = text] = /^# (.+)\n([\s\S]*)$/.exec(text.trimStart()) ?? []
  return { title: title.replaceAll('`', ''), body }
}

/** The id of a heading, as mdBook makes it. */
export const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
