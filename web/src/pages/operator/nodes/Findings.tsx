import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Finding, findingsQuery } from '../../../api/operator/nodes'
import { type Column, DataTable } from '../../../ui/DataTable'
import { formatTime } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StateBadge } from '../../../ui/StateBadge'
import { StatusBadge } from '../../../ui/StatusBadge'
import { displayIn } from '../../../ui/states'

const levelOf = displayIn({
  ok: { tone: 'ok', label: 'OK' },
  warning: { tone: 'warn', label: 'Warning' },
  problem: { tone: 'bad', label: 'Problem' },
})

const COLUMNS: Column<Finding>[] = [
  { id: 'check', header: 'Check', cell: ({ check }) => check },
  {
    id: 'level',
    header: 'Result',
    cell: ({ level }) => <StateBadge state={levelOf(level)} />,
  },
  { id: 'what', header: 'Finding', cell: ({ what }) => what },
  { id: 'remedy', header: 'Remedy', cell: ({ remedy }) => remedy || '–' },
]

/** The findings of `forebay admin doctor` on the node that responds; problems first. */
export function Findings() {
  const findings = useQuery(findingsQuery)
  return (
    <Panel
      id="checks"
      title="Checks"
      description="The findings of forebay admin doctor on the node that responded"
      figure={findings.data ? `checked ${formatTime(findings.data.checkedAt)}` : null}
    >
      <Loaded query={findings} skeleton={<TableSkeleton rows={4} />} errorTitle="The checks could not be loaded">
        {({ findings: all }) => (
          <Stack gap="sm">
            {all.some(isOpen) ? (
              <FindingsTable caption="Findings that need attention" findings={all.filter(isOpen)} />
            ) : (
              <StatusBadge tone="ok">All checks passed</StatusBadge>
            )}
            <details>
              <summary>
                <Text span size="sm" c="dimmed">
                  Show all {all.length} checks
                </Text>
              </summary>
              <FindingsTable caption="All checks" findings={all} />
            </details>
          </Stack>
        )}
      </Loaded>
    </Panel>
  )
}

const isOpen = ({ level }: Finding) => level !== 'ok'
const rank = ({ level }: Finding) => ['ok', 'warning', 'problem'].indexOf(level)

function FindingsTable({ caption, findings }: { caption: string; findings: readonly Finding[] }) {
  return (
    <DataTable
      caption={caption}
      columns={COLUMNS}
      rows={[...findings].sort((one, other) => rank(other) - rank(one))}
      rowKey={({ check, what }) => `${check} ${what}`}
      minWidth={640}
    />
  )
}
