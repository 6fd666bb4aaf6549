import classes from './CodeBlock.module.css'
import { CopyButton } from './CopyButton'

/** Code with a copy button. Scrolls horizontally and is keyboard-accessible. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className={classes.block}>
      <section className={classes.scroll} aria-label={label} tabIndex={0}>
        <pre className={classes.pre}>
          <code>{code}</code>
        </pre>
      </section>
      <div className={classes.copy}>
        <CopyButton value={code} label={`Copy: ${label}`} />
      </div>
    </div>
  )
}
