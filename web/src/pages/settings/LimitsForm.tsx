import { Button, Group, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { SESSION_KEY } from '../../api/client'
import { Failure } from '../../api/errors'
import { changeWorkspace, type Workspace, type WorkspaceEdit, workspaceQuery } from '../../api/workspaces'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { OptionalNumber } from '../../ui/OptionalNumber'
import { Conflict } from './Conflict'
import { editOf, FIELDS, type FieldName, isChanged, type Settings, settingsOf, type Value } from './limits'

const MAX_NAME = 100

/** The record that somebody else left, if the failure is about that. */
function currentOf(error: unknown): Workspace | undefined {
  const isConflict = error instanceof Failure && error.code === 'version_conflict'
  return isConflict ? (error.details.current as Workspace) : undefined
}

/** An edit begins with a record and stays with it: what is loaded meanwhile does not change fields under one's hands. */
export function LimitsForm({ workspace }: { workspace: Workspace }) {
  const queries = useQueryClient()
  const [started, setStarted] = useState(workspace)
  const [mine, setMine] = useState(() => settingsOf(workspace))
  const base = settingsOf(started)
  const isEdited = isChanged(base, mine)
  if (!isEdited && workspace.version !== started.version) {
    setStarted(workspace)
    setMine(settingsOf(workspace))
  }
  const save = useMutation({
    mutationFn: (edit: WorkspaceEdit) => changeWorkspace(workspace.id, edit),
    onSuccess: (saved) => {
      setStarted(saved)
      setMine(settingsOf(saved))
      queries.setQueryData(workspaceQuery(workspace.id).queryKey, saved)
      void queries.invalidateQueries({ queryKey: ['quota', workspace.id] })
      if (saved.name !== workspace.name) void queries.invalidateQueries({ queryKey: SESSION_KEY })
      notifications.show({ title: 'Settings saved', message: 'They hold from the next call on.' })
    },
  })
  const startFrom = (current: Workspace) => {
    save.reset()
    setStarted(current)
    setMine(settingsOf(current))
    queries.setQueryData(workspaceQuery(workspace.id).queryKey, current)
  }
  const current = currentOf(save.error)
  if (current) {
    return (
      <Conflict
        base={base}
        theirs={settingsOf(current)}
        mine={mine}
        isPending={save.isPending}
        onDiscard={() => startFrom(current)}
        onSave={(merged) => {
          setStarted(current)
          setMine(merged)
          if (isChanged(settingsOf(current), merged)) save.mutate(editOf(settingsOf(current), merged, current.version))
          else startFrom(current)
        }}
      />
    )
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate(editOf(base, mine, started.version))
  }
  const field = save.error instanceof Failure ? save.error.field : undefined
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
        {save.error && !field ? <ErrorPanel error={save.error} title="Not saved" /> : null}
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
          placeholder="The platform's value"
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
