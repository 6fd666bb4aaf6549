import { Button, Code, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmDialog } from './ConfirmDialog'
import { type Column, DataTable } from './DataTable'

type Alias = { name: string; model: string }
type Props<T extends Alias> = {
  caption: string
  empty: string
  aliases: readonly T[]
  columns?: readonly Column<T>[]
  isWritable: (alias: T) => boolean
  onChange?: (alias: T) => void
  /** Deletes an alias and refreshes the list. */
  remove: (alias: T) => Promise<unknown>
}

/** Aliases with their models. Those that are writable can be changed and deleted. */
export function AliasTable<T extends Alias>({ caption, empty, aliases, columns = [], ...actions }: Props<T>) {
  const [deleted, setDeleted] = useState<T>()
  const remove = useMutation({ mutationFn: actions.remove, onSuccess: () => setDeleted(undefined) })
  return (
    <>
      {aliases.length === 0 ? (
        <Text c="dimmed">{empty}</Text>
      ) : (
        <DataTable
          caption={caption}
          columns={[...NAMES, ...columns, ...actionsColumn({ ...actions, onDelete: setDeleted }, aliases)]}
          rows={aliases}
          rowKey={(alias) => JSON.stringify(alias)}
          minWidth={420}
        />
      )}
      <ConfirmDialog
        opened={!!deleted}
        onClose={() => {
          remove.reset()
          setDeleted(undefined)
        }}
        title="Delete alias"
        action="Delete alias"
        isPending={remove.isPending}
        error={remove.error}
        onConfirm={() => deleted && remove.mutate(deleted)}
      >
        Calls to <Code>{deleted?.name}</Code> fail with <Code>model_not_found</Code>, unless another alias matches the
        name.
      </ConfirmDialog>
    </>
  )
}

const code = (text: string) => <Code style={{ overflowWrap: 'anywhere' }}>{text}</Code>
const NAMES: Column<Alias>[] = [
  { id: 'name', header: 'Name', cell: ({ name }) => code(name) },
  { id: 'model', header: 'Model', cell: ({ model }) => code(model) },
]

type Actions<T extends Alias> = Pick<Props<T>, 'isWritable' | 'onChange'> & { onDelete: (alias: T) => void }

function actionsColumn<T extends Alias>(
  { isWritable, onChange, onDelete }: Actions<T>,
  all: readonly T[],
): Column<T>[] {
  const action = (label: string, alias: T, act: (alias: T) => void) => (
    <Button size="compact-sm" variant="default" aria-label={`${label} ${alias.name}`} onClick={() => act(alias)}>
      {label}
    </Button>
  )
  if (!all.some(isWritable)) return []
  return [
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (alias) =>
        isWritable(alias) ? (
          <Group gap="xs" wrap="nowrap">
            {onChange ? action('Change', alias, onChange) : null}
            {action('Delete', alias, onDelete)}
          </Group>
        ) : null,
    },
  ]
}
