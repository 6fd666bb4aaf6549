import { Code, UnstyledButton } from '@mantine/core'
import type { AuditEntry } from '../../api/audit'
import { type Column, DataTable, type PagedRows } from '../../ui/DataTable'
import { Time } from '../../ui/Time'
import classes from './Audit.module.css'
import { actorOf, summaryOf } from './entries'

type Props = { entries: PagedRows<AuditEntry>; onOpen: (id: string) => void }

export function AuditTable({ entries, onOpen }: Props) {
  const columns: Column<AuditEntry>[] = [
    {
      id: 'action',
      header: 'Action',
      cell: (entry) => (
        <UnstyledButton className={classes.open} onClick={() => onOpen(entry.id)}>
          {entry.action}
        </UnstyledButton>
      ),
    },
    { id: 'detail', header: 'Summary', cell: (entry) => <span className={classes.detail}>{summaryOf(entry)}</span> },
    { id: 'subject', header: 'Subject', cell: (entry) => <Code className={classes.id}>{entry.subject}</Code> },
    { id: 'actor', header: 'Actor', cell: actorOf },
    { id: 'address', header: 'From', cell: (entry) => entry.address ?? '–' },
    { id: 'at', header: 'When', cell: (entry) => <Time value={entry.at} /> },
  ]
  return <DataTable caption="Audit log" columns={columns} rows={entries} rowKey={(entry) => entry.id} minWidth={860} />
}
