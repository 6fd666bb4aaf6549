/**
 * Renders Markdown from a model, which is untrusted. HTML stays text, only web and mail links are allowed, and nothing is
 * loaded: an image is shown as a link.
 */

import type { ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import rehypeHighlight from 'rehype-highlight'
import remarkGfm from 'remark-gfm'
import '../../ui/highlight.css'
import classes from '../../ui/Markdown.module.css'
import { safeLink } from './safe-link'

const REMARK = [remarkGfm]
const REHYPE = [rehypeHighlight]

/** Headings start at h3, since the page has its own h1 and h2. */
const COMPONENTS: Components = {
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
  a: ({ href, children }) => <ExternalLink href={href}>{children}</ExternalLink>,
  img: ({ src, alt }) => (
    <ExternalLink href={typeof src === 'string' ? src : undefined}>Image: {alt || 'untitled'}</ExternalLink>
  ),
  input: ({ checked }) => <span>{checked ? '☑ ' : '☐ '}</span>,
  pre: ({ children }) => (
    <pre tabIndex={0} className={classes.code}>
      {children}
    </pre>
  ),
  table: ({ children }) => (
    <div className={classes.table}>
      <table>{children}</table>
    </div>
  ),
}

export default function Markdown({ text }: { text: string }) {
  return (
    <div className={classes.markdown}>
      <ReactMarkdown remarkPlugins={REMARK} rehypePlugins={REHYPE} urlTransform={safeLink} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  )
}

function ExternalLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (!href) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}
