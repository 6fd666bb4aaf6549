import { Code } from '@mantine/core'
import type { Batch } from '../../api/batches'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatCount, sentence } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { withCode } from '../../ui/with-code'
import { type FailedLine, failedLine } from './lines'

const FAILED_COLUMNS: Column<FailedLine>[] = [
  { id: 'line', header: 'Line', cell: ({ customId }) => <Code>{customId}</Code> },
  { id: 'status', header: 'Status', cell: ({ status }) => status ?? 'no response' },
  { id: 'code', header: 'Code', cell: ({ code }) => (code ? <Code>{code}</Code> : '–') },
  { id: 'message', header: 'Message', cell: ({ message }) => (message ? withCode(sentence(message)) : '–') },
]

/** The first lines that failed, also while others run. */
export function FailedLines({ lines }: { lines: readonly unknown[] }) {
  return (
    <Panel
      title="First lines that failed"
      description="The error file has all of them, with their responses, once the batch has ended"
    >
      <DataTable
        caption="Lines that failed"
        columns={FAILED_COLUMNS}
        rows={lines.map(failedLine)}
        rowKey={({ customId }) => customId}
        minWidth={560}
      />
    </Panel>
  )
}

type Problem = NonNullable<Batch['errors']>['data'][number]

const PROBLEM_COLUMNS: Column<Problem>[] = [
  { id: 'line', header: 'Line', cell: ({ line }) => (line == null ? 'whole file' : formatCount(line)) },
  { id: 'code', header: 'Code', cell: ({ code }) => <Code>{code}</Code> },
  { id: 'message', header: 'Message', cell: ({ message }) => withCode(sentence(message)) },
  { id: 'param', header: 'Member', cell: ({ param }) => (param ? <Code>{param}</Code> : '–') },
]

/** Why the input file is invalid. */
export function Problems({ problems }: { problems: readonly Problem[] }) {
  return (
    <Panel title="Problems of the file" description="No line has run. Correct the file, upload it and make a new batch">
      <DataTable
        caption="Problems of the file"
        columns={PROBLEM_COLUMNS}
        rows={problems}
        rowKey={(problem) => JSON.stringify(problem)}
        minWidth={560}
      />
    </Panel>
  )
}
