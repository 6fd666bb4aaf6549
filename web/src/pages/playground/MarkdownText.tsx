import { lazy, Suspense } from 'react'
import classes from './Playground.module.css'

/** Markdown and highlighting are large, so they are loaded with the first response. */
const Markdown = lazy(() => import('./Markdown'))

/** Renders Markdown, or plain text until the renderer has loaded. */
export function MarkdownText({ text }: { text: string }) {
  if (!text) return null
  return (
    <Suspense fallback={<div className={classes.plain}>{text}</div>}>
      <Markdown text={text} />
    </Suspense>
  )
}
