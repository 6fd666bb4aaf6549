import { Button, Code, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import {
  catalogueAliasesQuery,
  changeAlias,
  createAlias,
  deleteAlias,
  type OperatorAlias,
  type OperatorModel,
  refreshCatalogueAliases,
} from '../../../api/operator/catalogue'
import { ConfirmDialog } from '../../../ui/ConfirmDialog'
import { type Column, DataTable } from '../../../ui/DataTable'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { SaveError } from '../../../ui/SaveError'
import { TableSkeleton } from '../../../ui/Skeletons'
import { fieldErrors } from './errors'
import { SOURCE_LABELS } from './source'

type Props = { models: readonly OperatorModel[]; isWritable: boolean }

/** Further names of models, for all workspaces. Those of the file are read-only. */
export function Aliases({ models, isWritable }: Props) {
  const aliases = useQuery(catalogueAliasesQuery)
  const [edited, setEdited] = useState<OperatorAlias | 'new'>()
  const [deleted, setDeleted] = useState<OperatorAlias>()
  const close = () => setEdited(undefined)
  return (
    <Panel
      title="Aliases"
      description="Further names of models, for all workspaces. A name may end with * to match all names that begin with it"
      actions={
        isWritable ? (
          <Button variant="default" onClick={() => setEdited('new')}>
            Add alias
          </Button>
        ) : null
      }
    >
      <Loaded query={aliases} skeleton={<TableSkeleton rows={2} />} errorTitle="The aliases could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No model has a further name.</Text>
          ) : (
            <DataTable
              caption="Aliases of the catalogue"
              columns={columns(isWritable, setEdited, setDeleted)}
              rows={all}
              rowKey={({ name, source }) => `${source} ${name}`}
              minWidth={520}
            />
          )
        }
      </Loaded>
      <Modal
        opened={!!edited}
        onClose={close}
        title={edited === 'new' ? 'Add alias' : 'Change alias'}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {edited ? <AliasForm alias={edited === 'new' ? undefined : edited} models={models} onClose={close} /> : null}
      </Modal>
      <DeleteAlias alias={deleted} onClose={() => setDeleted(undefined)} />
    </Panel>
  )
}

const name = (text: string) => <Code style={{ overflowWrap: 'anywhere' }}>{text}</Code>

const columns = (
  isWritable: boolean,
  onEdit: (alias: OperatorAlias) => void,
  onDelete: (alias: OperatorAlias) => void,
): Column<OperatorAlias>[] => [
  { id: 'name', header: 'Alias', cell: (alias) => name(alias.name) },
  { id: 'model', header: 'Stands for', cell: (alias) => name(alias.model) },
  { id: 'source', header: 'Defined in', cell: (alias) => SOURCE_LABELS[alias.source] ?? alias.source },
  {
    id: 'actions',
    header: 'Actions',
    isActions: true,
    cell: (alias) =>
      isWritable && alias.source === 'store' ? (
        <Group gap="xs" wrap="nowrap">
          <Button size="compact-sm" variant="default" aria-label={`Change ${alias.name}`} onClick={() => onEdit(alias)}>
            Change
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Delete ${alias.name}`}
            onClick={() => onDelete(alias)}
          >
            Delete
          </Button>
        </Group>
      ) : null,
  },
]

type FormProps = { alias: OperatorAlias | undefined; models: readonly OperatorModel[]; onClose: () => void }

/** A conflict shows the current target, and saving again changes that one. */
function AliasForm({ alias, models, onClose }: FormProps) {
  const queries = useQueryClient()
  const [fields, setFields] = useState({ name: alias?.name ?? '', model: alias?.model ?? '' })
  const [version, setVersion] = useState(alias?.version ?? 0)
  const [typedName, model] = [fields.name.trim(), fields.model]
  const save = useMutation({
    mutationFn: () => (alias ? changeAlias(alias.name, version, model) : createAlias(typedName, model)),
    onSuccess: (saved) => {
      notifications.show({ title: 'Alias saved', message: `${saved.name} now means ${saved.model}, on all nodes.` })
      onClose()
    },
    onSettled: () => refreshCatalogueAliases(queries),
  })
  const errors = fieldErrors(save.error, ['name', 'model'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="The name that clients send"
          placeholder="claude-sonnet-4-5"
          required
          autoComplete="off"
          spellCheck={false}
          disabled={!!alias}
          value={fields.name}
          error={errors.of('name')}
          onChange={(event) => setFields({ ...fields, name: event.currentTarget.value })}
        />
        <Select
          label="Model"
          placeholder="Choose a model"
          required
          searchable
          allowDeselect={false}
          data={models.map(({ id }) => id)}
          value={fields.model || null}
          error={errors.of('model')}
          onChange={(value) => setFields({ ...fields, model: value ?? '' })}
        />
        {errors.rest ? (
          <SaveError<OperatorAlias>
            error={errors.rest}
            title="Could not save the alias"
            onLoad={(current) => {
              save.reset()
              setVersion(current.version ?? 0)
              setFields({ name: current.name, model: current.model })
            }}
          />
        ) : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending} disabled={!typedName || !model}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function DeleteAlias({ alias, onClose }: { alias: OperatorAlias | undefined; onClose: () => void }) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: (target: OperatorAlias) => deleteAlias(target.name),
    onSuccess: onClose,
    onSettled: () => refreshCatalogueAliases(queries),
  })
  return (
    <ConfirmDialog
      opened={!!alias}
      onClose={() => {
        remove.reset()
        onClose()
      }}
      title="Delete alias"
      action="Delete alias"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => alias && remove.mutate(alias)}
    >
      Calls to <Code>{alias?.name}</Code> fail with <Code>model_not_found</Code>, unless another alias matches.
    </ConfirmDialog>
  )
}
