import classes from './StatusBadge.module.css'

/** `ok`: working, `busy`: in progress, `warn`: partly working, `bad`: not working, `idle`: inactive. */
export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle'

/** A state as text with a coloured dot. The text alone is sufficient. */
export function StatusBadge({ tone, children, title }: { tone: Tone; children: string; title?: string }) {
  return (
    <span className={classes.badge} data-tone={tone} title={title}>
      <span className={classes.dot} aria-hidden />
      {children}
    </span>
  )
}
