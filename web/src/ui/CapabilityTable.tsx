import { Stack, Text } from '@mantine/core'
import { type CapabilityRow, labelOf, SUPPORT } from './capabilities'
import { type Column, DataTable } from './DataTable'
import { StatusBadge } from './StatusBadge'

const COLUMNS: Column<CapabilityRow>[] = [
  {
    id: 'name',
    header: 'Capability',
    cell: ({ name, note }) => (
      <Stack gap={0}>
        {labelOf(name)}
        {note ? (
          <Text size="xs" c="dimmed">
            {note}
          </Text>
        ) : null}
      </Stack>
    ),
  },
  {
    id: 'support',
    header: 'Support',
    cell: ({ support }) => <StatusBadge tone={SUPPORT[support].tone}>{SUPPORT[support].label}</StatusBadge>,
  },
]

/** What a model can do, as its engines have shown. */
export function CapabilityTable({ rows }: { rows: CapabilityRow[] }) {
  return (
    <DataTable
      caption="Capabilities of the model"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ name }) => name}
      minWidth={280}
    />
  )
}
