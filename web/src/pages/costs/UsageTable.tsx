import { Text } from '@mantine/core'
import type { UsageLine, UsageReport } from '../../api/costs'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatCompact, formatCount, formatMoney, nanoUsd } from '../../ui/format'
import { Loaded, type LoadedQuery } from '../../ui/Loaded'
import { TableSkeleton } from '../../ui/Skeletons'
import { sortRows } from '../../ui/sorting'

const AMOUNT_COLUMNS: Column<UsageLine>[] = [
  { id: 'requests', header: 'Calls', align: 'right', cell: (line) => formatCount(line.requests) },
  { id: 'prompt', header: 'Tokens in', align: 'right', cell: (line) => formatCompact(line.promptTokens) },
  { id: 'completion', header: 'Tokens out', align: 'right', cell: (line) => formatCompact(line.completionTokens) },
  { id: 'cost', header: 'Cost', align: 'right', cell: (line) => formatMoney(line.costUsd) },
]

type Props = {
  usage: LoadedQuery<UsageReport>
  caption: string
  /** What the usage is grouped by. */
  group: Column<UsageLine>
  /** After the amounts. */
  more?: (lines: readonly UsageLine[]) => Column<UsageLine>
  rowKey: (line: UsageLine) => string
  find?: { label: string; text: (line: UsageLine) => string }
  empty: string
}

/** Usage by group, the most expensive first. */
export function UsageTable({ usage, caption, group, more, rowKey, find, empty }: Props) {
  return (
    <Loaded query={usage} skeleton={<TableSkeleton rows={3} />} errorTitle="The usage could not be loaded">
      {({ data }) =>
        data.length === 0 ? (
          <Text c="dimmed">{empty}</Text>
        ) : (
          <DataTable
            caption={caption}
            columns={[group, ...AMOUNT_COLUMNS, ...(more ? [more(data)] : [])]}
            rows={sortRows(data, (line) => nanoUsd(line.costUsd), true)}
            rowKey={rowKey}
            minWidth={480}
            find={find}
          />
        )
      }
    </Loaded>
  )
}
