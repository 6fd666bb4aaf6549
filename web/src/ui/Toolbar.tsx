import type { ReactNode } from 'react'
import classes from './DataTable.module.css'

/** The search above a table. */
export function Toolbar({ children }: { children: ReactNode }) {
  return <search className={classes.search}>{children}</search>
}
