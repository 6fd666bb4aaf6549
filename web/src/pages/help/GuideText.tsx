import type { ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import rehypeHighlight from 'rehype-highlight'
import remarkGfm from 'remark-gfm'
import { paths } from '../../paths'
import '../../ui/highlight.css'
import { Link } from '../../ui/Link'
import classes from '../../ui/Markdown.module.css'
import { imageUrl, resolved, slug } from './guide'

const REMARK = [remarkGfm]
const REHYPE = [rehypeHighlight]

/** A page of the guide, whose links lead to its other pages. */
export function GuideText({ path, text }: { path: string; text: string }) {
  return (
    <div className={classes.markdown}>
      <ReactMarkdown remarkPlugins={REMARK} rehypePlugins={REHYPE} components={componentsFor(path)}>
        {text}
      </ReactMarkdown>
    </div>
  )
}

const componentsFor = (path: string): Components => ({
  h2: ({ children }) => <h2 id={slug(textOf(children))}>{children}</h2>,
  h3: ({ children }) => <h3 id={slug(textOf(children))}>{children}</h3>,
  h4: ({ children }) => <h4 id={slug(textOf(children))}>{children}</h4>,
  a: ({ href = '', children }) => {
    const target = resolved(path, href)
    if (target) return <Link href={paths.help(target)}>{children}</Link>
    if (!href.startsWith('http')) return <span>{children}</span>
    return (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    )
  },
  img: ({ src, alt }) => {
    const target = resolved(path, typeof src === 'string' ? src : '')
    return <img src={target && imageUrl(target)} alt={alt} />
  },
  pre: ({ children }) => (
    <pre tabIndex={0} className={classes.code}>
      {children}
    </pre>
  ),
  table: ({ children }) => (
    <div className={classes.table} tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
})

/** The plain text of a heading. */
function textOf(node: ReactNode): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node)
  if (Array.isArray(node)) return node.map(textOf).join('')
  if (node && typeof node === 'object' && 'props' in node)
    return textOf((node.props as { children?: ReactNode }).children)
  return ''
}
