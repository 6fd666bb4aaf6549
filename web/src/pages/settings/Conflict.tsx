import { Alert, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { IconArrowsSplit2 } from '@tabler/icons-react'
import { useState } from 'react'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatCount } from '../../ui/format'
import {
  compareThree,
  type FieldName,
  type Line,
  merge,
  type Settings,
  type Side,
  undecided,
  type Value,
} from './limits'

type Props = {
  base: Settings
  theirs: Settings
  mine: Settings
  isPending: boolean
  onSave: (merged: Settings) => void
  onDiscard: () => void
}

const shown = (value: Value) =>
  value === null ? "The platform's value" : typeof value === 'number' ? formatCount(value) : value

/** Somebody else saved first: no edit is lost, and where both changed the same, one chooses. */
export function Conflict({ base, theirs, mine, isPending, onSave, onDiscard }: Props) {
  const [choices, setChoices] = useState<Partial<Record<FieldName, Side>>>({})
  const lines = compareThree(base, theirs, mine)
  const open = undecided(lines, choices)
  const columns: Column<Line>[] = [
    { id: 'setting', header: 'Setting', cell: (line) => line.label },
    { id: 'base', header: 'When you began', cell: (line) => shown(line.base) },
    { id: 'theirs', header: 'Theirs, in force now', cell: (line) => shown(line.theirs) },
    { id: 'mine', header: 'Yours', cell: (line) => shown(line.mine) },
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
              ? 'Both agree'
              : line.base === line.mine
                ? 'Theirs; you left it'
                : 'Yours; they left it'}
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
        title="Somebody else saved these settings meanwhile"
      >
        Nothing of yours is lost and nothing is overwritten. Choose what to use where both of you changed the same
        setting.
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
            {open.length === 1 ? 'One choice is open' : `${open.length} choices are open`}
          </Text>
        ) : null}
      </Group>
    </Stack>
  )
}
