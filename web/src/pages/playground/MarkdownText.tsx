import { lazy, Suspense } from 'react'
import classes from './Playground.module.css'

/** Markdown and highlighting are large: they are loaded with the first answer. */
const Markdown = lazy(() => import('./Markdown'))

/** What a model wrote, laid out. Until the code for that is there, it is plain text. */
export function MarkdownText({ text }: { text: string }) {
  if (!text) return null
  return (
    <Suspense fallback={<div className={classes.plain}>{text}</div>}>
      <Markdown text={text} />
    </Suspense>
  )
}
