import classes from './StatusBadge.module.css'

/** `ok` works, `busy` is under way, `warn` works partly, `bad` does not, `idle` is at rest. */
export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle'

/** A state in words with a dot in its colour; the words say it without the colour. */
export function StatusBadge({ tone, children, title }: { tone: Tone; children: string; title?: string }) {
  return (
    <span className={classes.badge} data-tone={tone} title={title}>
      <span className={classes.dot} aria-hidden />
      {children}
    </span>
  )
}
