import { Progress } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type UsageLine, usageOfKeyQuery } from '../../api/costs'
import type { Column } from '../../ui/DataTable'
import { formatShare, nanoUsd } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { END_USER_COLUMN, FIND_END_USER } from '../costs/ByEndUser'
import { MODEL_COLUMN } from '../costs/ByModel'
import { UsageTable } from '../costs/UsageTable'

const GROUPS = {
  model: { title: 'This month by model', caption: 'Usage by model', group: MODEL_COLUMN, find: undefined },
  endUser: {
    title: 'This month by end user',
    caption: 'Usage by end user',
    group: END_USER_COLUMN,
    find: FIND_END_USER,
  },
} as const

type Props = { keyId: string; workspaceId: string; by: keyof typeof GROUPS }

/** What calls with a key cost this month, by model or by the people whom they named. */
export function KeyUsage({ keyId, workspaceId, by }: Props) {
  const usage = useQuery(usageOfKeyQuery(workspaceId, keyId, by))
  const { title, ...table } = GROUPS[by]
  return (
    <Panel title={title}>
      <UsageTable
        {...table}
        usage={usage}
        more={shareColumn}
        rowKey={(line) => line[by] ?? ''}
        empty="No calls this month."
      />
    </Panel>
  )
}

const nanoOf = ({ costUsd }: UsageLine) => Number(nanoUsd(costUsd) ?? 0n)

/** The share of each line in the cost of all. */
function shareColumn(lines: readonly UsageLine[]): Column<UsageLine> {
  const all = lines.reduce((sum, line) => sum + nanoOf(line), 0)
  const shareOf = (line: UsageLine) => (all > 0 ? nanoOf(line) / all : 0)
  return {
    id: 'share',
    header: 'Share of cost',
    align: 'right',
    cell: (line) => (
      <>
        {formatShare(shareOf(line))}
        <Progress size="sm" miw={72} mt={2} value={100 * shareOf(line)} aria-hidden />
      </>
    ),
  }
}
