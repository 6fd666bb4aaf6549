import { Button, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type Alias, deleteAlias, setAlias, workspaceAliasesQuery } from '../../api/aliases'
import { type Column, DataTable } from '../../ui/DataTable'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'

type Props = { workspaceId: string; isAdmin: boolean }

/** Aliases of the workspace; administrators change them. */
export function AliasesPanel({ workspaceId, isAdmin }: Props) {
  const aliases = useQuery(workspaceAliasesQuery(workspaceId))
  const columns: Column<Alias>[] = [
    { id: 'name', header: 'Name', cell: (one) => <Code>{one.name}</Code> },
    { id: 'model', header: 'Model', cell: (one) => <Code>{one.model}</Code> },
  ]
  if (isAdmin) {
    columns.push({
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (one) => <DeleteAlias workspaceId={workspaceId} name={one.name} />,
    })
  }
  return (
    <Panel
      title="Aliases"
      description="Further names of models, for agents that know only some names. A name may end with * to match all that begin with it"
    >
      <Stack gap="sm">
        <Loaded query={aliases} skeleton={<TableSkeleton rows={2} />} errorTitle="The aliases could not be loaded">
          {(all) =>
            all.length === 0 ? (
              <Text size="sm" c="dimmed">
                This workspace has no aliases of its own.
              </Text>
            ) : (
              <DataTable caption="Aliases" columns={columns} rows={all} rowKey={(one) => one.name} minWidth={420} />
            )
          }
        </Loaded>
        {isAdmin ? <AliasForm workspaceId={workspaceId} /> : null}
      </Stack>
    </Panel>
  )
}

function AliasForm({ workspaceId }: { workspaceId: string }) {
  const queries = useQueryClient()
  const [alias, setFields] = useState<Alias>({ name: '', model: '' })
  const save = useMutation({
    mutationFn: () => setAlias(workspaceId, { name: alias.name.trim(), model: alias.model.trim() }),
    onSuccess: () => setFields({ name: '', model: '' }),
    onSettled: () => refresh(queries, workspaceId),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Name"
          placeholder="claude-forebay"
          required
          value={alias.name}
          onChange={(event) => setFields({ ...alias, name: event.currentTarget.value })}
        />
        <TextInput
          label="Model"
          placeholder="acme/tiny-chat or dedicated/mine"
          required
          value={alias.model}
          onChange={(event) => setFields({ ...alias, model: event.currentTarget.value })}
        />
        <Button type="submit" loading={save.isPending} disabled={!alias.name.trim() || !alias.model.trim()}>
          Save alias
        </Button>
      </Group>
      {save.error ? <ErrorPanel error={save.error} title="Could not save the alias" /> : null}
    </form>
  )
}

function DeleteAlias({ workspaceId, name }: { workspaceId: string; name: string }) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => deleteAlias(workspaceId, name),
    onSettled: () => refresh(queries, workspaceId),
  })
  return (
    <Button size="compact-sm" variant="default" loading={remove.isPending} onClick={() => remove.mutate()}>
      Delete
    </Button>
  )
}

/** The list of models contains aliases, too. */
function refresh(queries: ReturnType<typeof useQueryClient>, workspaceId: string) {
  queries.invalidateQueries({ queryKey: ['models', workspaceId] })
  return queries.invalidateQueries(workspaceAliasesQuery(workspaceId))
}
