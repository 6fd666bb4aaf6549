import { Suspense } from 'react'
import { lazyPart } from '../../ui/lazy-part'
import classes from './Playground.module.css'

/** Markdown and highlighting are large, so they are loaded with the first response. */
const Markdown = lazyPart(() => import('./Markdown'), Plain)

function Plain({ text }: { text: string }) {
  return <div className={classes.plain}>{text}</div>
}

/** Renders Markdown, or plain text until the renderer has loaded. */
export function MarkdownText({ text }: { text: string }) {
  if (!text) return null
  return (
    <Suspense fallback={<Plain text={text} />}>
      <Markdown text={text} />
    </Suspense>
  )
}
