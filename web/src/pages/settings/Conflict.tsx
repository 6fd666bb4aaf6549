import { Alert, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { IconArrowsSplit2 } from '@tabler/icons-react'
import { useState } from 'react'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatCount, formatMoney } from '../../ui/format'
import {
  type ConflictLine,
  compareThree,
  type FieldName,
  merge,
  type Settings,
  type Side,
  undecided,
  type Value,
} from './limits'
import { onBudgetLabel } from './on-budget'

type Props = {
  base: Settings
  theirs: Settings
  mine: Settings
  isPending: boolean
  onSave: (merged: Settings) => void
  onDiscard: () => void
}

function shown(name: FieldName, value: Value): string {
  if (name === 'onBudget') return onBudgetLabel(value)
  if (name === 'monthlyUsd') return value === null ? 'No budget' : formatMoney(`${value}`)
  return value === null ? 'Platform default' : typeof value === 'number' ? formatCount(value) : value
}

/** Resolves an edit conflict: the user decides for each setting that both sides changed; no edit is lost. */
export function Conflict({ base, theirs, mine, isPending, onSave, onDiscard }: Props) {
  const [choices, setChoices] = useState<Partial<Record<FieldName, Side>>>({})
  const lines = compareThree(base, theirs, mine)
  const open = undecided(lines, choices)
  const columns: Column<ConflictLine>[] = [
    { id: 'setting', header: 'Setting', cell: (line) => line.label },
    { id: 'base', header: 'Original', cell: (line) => shown(line.name, line.base) },
    { id: 'theirs', header: 'Theirs, current', cell: (line) => shown(line.name, line.theirs) },
    { id: 'mine', header: 'Yours', cell: (line) => shown(line.name, line.mine) },
    {
      id: 'use',
      header: 'Use',
      cell: (line) =>
        line.isClash ? (
          <SegmentedControl
            size="xs"
            aria-label={`Which ${line.label.toLowerCase()}`}
            data={[
              { value: 'theirs', label: 'Theirs' },
              { value: 'mine', label: 'Mine' },
            ]}
            value={choices[line.name] ?? ''}
            onChange={(side) => setChoices({ ...choices, [line.name]: side as Side })}
          />
        ) : (
          <Text span size="sm" c="dimmed">
            {line.theirs === line.mine
              ? 'Same change'
              : line.base === line.mine
                ? 'Theirs; unchanged by you'
                : 'Yours; unchanged by them'}
          </Text>
        ),
    },
  ]
  return (
    <Stack gap="md">
      <Alert
        role="alert"
        color="var(--fb-warn)"
        variant="outline"
        icon={<IconArrowsSplit2 aria-hidden />}
        title="These settings were changed in the meantime"
      >
        Your edits are not lost and nothing was overwritten. For each setting that both of you changed, choose which
        value to keep.
      </Alert>
      <DataTable
        caption="Changes on both sides"
        columns={columns}
        rows={lines}
        rowKey={(line) => line.name}
        minWidth={640}
      />
      <Group gap="xs">
        <Button
          loading={isPending}
          disabled={open.length > 0}
          onClick={() => onSave(merge(base, theirs, mine, choices))}
        >
          Save with these choices
        </Button>
        <Button variant="default" onClick={onDiscard}>
          Discard mine
        </Button>
        {open.length > 0 ? (
          <Text size="sm" c="dimmed">
            {open.length === 1 ? '1 setting left to decide' : `${open.length} settings left to decide`}
          </Text>
        ) : null}
      </Group>
    </Stack>
  )
}
