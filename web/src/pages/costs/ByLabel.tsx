import { Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { usageQuery } from '../../api/costs'
import { keyLabelsQuery } from '../../api/keys'
import { Panel } from '../../ui/Panel'
import { UsageTable } from './UsageTable'

type Props = { workspaceId: string; span: { from: string; to: string } }

/** Costs by the value of a label of keys; nothing if no key has labels. */
export function ByLabel({ workspaceId, span }: Props) {
  const labels = useQuery(keyLabelsQuery(workspaceId))
  const names = (labels.data ?? []).map(({ name }) => name)
  const [chosen, choose] = useState<string>()
  const name = chosen && names.includes(chosen) ? chosen : names[0]
  if (!name) return null
  return (
    <Panel
      title="By label"
      description="Grouped by the keys’ current labels, also for earlier calls"
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
  return (
    <UsageTable
      usage={usage}
      caption={`Cost by ${name}`}
      group={{ id: 'label', header: name, cell: ({ label }) => label ?? <Text c="dimmed">Without this label</Text> }}
      rowKey={({ label }) => JSON.stringify(label)}
      empty="No keys were used in this month."
    />
  )
}
