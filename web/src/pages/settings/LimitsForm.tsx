import { Button, Group, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { SESSION_KEY } from '../../api/client'
import { ApiError, conflictingRecord } from '../../api/errors'
import { changeWorkspace, type Workspace, type WorkspaceEdit, workspaceQuery } from '../../api/workspaces'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { OptionalNumber } from '../../ui/OptionalNumber'
import { Conflict } from './Conflict'
import { editOf, FIELDS, type FieldName, isChanged, type Settings, settingsOf, type Value } from './limits'

const MAX_NAME = 100

/** Edits a snapshot of the record, so that a refetch does not change fields while the user types. */
export function LimitsForm({ workspace }: { workspace: Workspace }) {
  const queries = useQueryClient()
  const [snapshot, setSnapshot] = useState(workspace)
  const [mine, setMine] = useState(() => settingsOf(workspace))
  const base = settingsOf(snapshot)
  const isEdited = isChanged(base, mine)
  if (!isEdited && workspace.version !== snapshot.version) {
    setSnapshot(workspace)
    setMine(settingsOf(workspace))
  }
  const save = useMutation({
    mutationFn: (edit: WorkspaceEdit) => changeWorkspace(workspace.id, edit),
    onSuccess: (saved) => {
      setSnapshot(saved)
      setMine(settingsOf(saved))
      queries.setQueryData(workspaceQuery(workspace.id).queryKey, saved)
      void queries.invalidateQueries({ queryKey: ['quota', workspace.id] })
      if (saved.name !== workspace.name) void queries.invalidateQueries({ queryKey: SESSION_KEY })
      notifications.show({ title: 'Settings saved', message: 'They apply from the next call.' })
    },
  })
  const startFrom = (current: Workspace) => {
    save.reset()
    setSnapshot(current)
    setMine(settingsOf(current))
    queries.setQueryData(workspaceQuery(workspace.id).queryKey, current)
  }
  const current = conflictingRecord<Workspace>(save.error)
  if (current) {
    return (
      <Conflict
        base={base}
        theirs={settingsOf(current)}
        mine={mine}
        isPending={save.isPending}
        onDiscard={() => startFrom(current)}
        onSave={(merged) => {
          setSnapshot(current)
          setMine(merged)
          if (isChanged(settingsOf(current), merged)) save.mutate(editOf(settingsOf(current), merged, current.version))
          else startFrom(current)
        }}
      />
    )
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate(editOf(base, mine, snapshot.version))
  }
  const field = save.error instanceof ApiError ? save.error.field : undefined
  const errorOf = (name: FieldName) => (field === name ? save.error?.message : undefined)
  const set = (name: FieldName, value: Value) => setMine({ ...mine, [name]: value })
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <TextInput
          label="Name"
          required
          maxLength={MAX_NAME}
          maw={420}
          value={String(mine.name ?? '')}
          error={errorOf('name')}
          onChange={(event) => set('name', event.currentTarget.value)}
        />
        <Numbers mine={mine} errorOf={errorOf} onChange={set} />
        {save.error && !field ? <ErrorPanel error={save.error} title="Could not save the settings" /> : null}
        <Group gap="xs">
          <Button type="submit" loading={save.isPending} disabled={!isEdited || !mine.name}>
            Save
          </Button>
          <Button variant="default" disabled={!isEdited || save.isPending} onClick={() => startFrom(workspace)}>
            Undo changes
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

type NumbersProps = {
  mine: Settings
  errorOf: (name: FieldName) => string | undefined
  onChange: (name: FieldName, value: Value) => void
}

function Numbers({ mine, errorOf, onChange }: NumbersProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, xl: 4 }} spacing="md">
      {FIELDS.filter(({ name }) => name !== 'name').map(({ name, label, unit }) => (
        <OptionalNumber
          key={name}
          label={label}
          description={unit}
          placeholder="Platform default"
          min={0}
          allowDecimal={false}
          allowNegative={false}
          thousandSeparator=","
          value={typeof mine[name] === 'number' ? mine[name] : undefined}
          error={errorOf(name)}
          onChange={(value) => onChange(name, value ?? null)}
        />
      ))}
    </SimpleGrid>
  )
}
