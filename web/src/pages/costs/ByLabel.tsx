import { Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { usageQuery } from '../../api/costs'
import { recentKeysQuery } from '../../api/keys'
import { DataTable } from '../../ui/DataTable'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'
import { AMOUNT_COLUMNS, mostExpensiveFirst } from './ByModel'

type Props = { workspaceId: string; span: { from: string; to: string } }

/** Costs by the value of a label of keys; nothing if no key that was used lately has labels. */
export function ByLabel({ workspaceId, span }: Props) {
  const keys = useQuery(recentKeysQuery(workspaceId))
  const names = [...new Set((keys.data ?? []).flatMap((key) => Object.keys(key.labels)))].sort()
  const [chosen, choose] = useState<string>()
  const name = chosen && names.includes(chosen) ? chosen : names[0]
  if (!name) return null
  return (
    <Panel
      title="By label"
      description="What keys are labelled now, whenever the calls were made"
      actions={
        <Select
          aria-label="Label"
          allowDeselect={false}
          data={names}
          value={name}
          onChange={(next) => choose(next ?? name)}
        />
      }
    >
      <LabelTable workspaceId={workspaceId} span={span} name={name} />
    </Panel>
  )
}

function LabelTable({ workspaceId, span, name }: Props & { name: string }) {
  const usage = useQuery(usageQuery(workspaceId, span, `label:${name}`))
  const columns = [
    {
      id: 'label',
      header: name,
      cell: (line: { label?: string | null }) => line.label ?? <Text c="dimmed">Without this label</Text>,
    },
    ...AMOUNT_COLUMNS,
  ]
  return (
    <Loaded query={usage} skeleton={<TableSkeleton rows={3} />} errorTitle="The usage could not be loaded">
      {({ data }) =>
        data.length === 0 ? (
          <Text c="dimmed">No keys were used in this month.</Text>
        ) : (
          <DataTable
            caption={`Cost by ${name}`}
            columns={columns}
            rows={mostExpensiveFirst(data)}
            rowKey={(line) => JSON.stringify(line.label)}
            minWidth={480}
          />
        )
      }
    </Loaded>
  )
}
