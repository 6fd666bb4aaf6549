import classes from './CodeBlock.module.css'
import { CopyButton } from './CopyButton'

/** Code with a copy button. Long lines wrap, so that nothing is cut; what is copied has no more lines than the code. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className={classes.block}>
      <section className={classes.code} aria-label={label}>
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
