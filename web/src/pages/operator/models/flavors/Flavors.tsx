import { Button, Code, Group, Modal, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { fieldPath } from '../../../../api/errors'
import { partOf, useApiForm } from '../../../../api/form'
import { editModel, type OperatorModel, refreshModels } from '../../../../api/operator/catalogue'
import { ConfirmDialog } from '../../../../ui/ConfirmDialog'
import { type Column, DataTable } from '../../../../ui/DataTable'
import { DialogButtons } from '../../../../ui/DialogButtons'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { formatCount, formatPrice } from '../../../../ui/format'
import { Panel } from '../../../../ui/Panel'
import { Command } from '../Command'
import { FlavorFieldset } from './FlavorFieldset'
import { EMPTY_FLAVOR, fieldsOf, flavorsWith } from './flavor-fields'

type Flavor = OperatorModel['flavors'][number]
type Props = { model: OperatorModel; isWritable: boolean }

/** Hardware that dedicated endpoints of the model can run on. */
export function Flavors({ model, isWritable }: Props) {
  const [edited, setEdited] = useState<Flavor | 'new'>()
  const [deleted, setDeleted] = useState<Flavor>()
  // The page reads the model again every few seconds. A dialog changes the version that it was opened with.
  const [read, setRead] = useState(model)
  const edit = (flavor: Flavor | 'new') => {
    setRead(model)
    setEdited(flavor)
  }
  const remove = (flavor: Flavor) => {
    setRead(model)
    setDeleted(flavor)
  }
  const close = () => setEdited(undefined)
  return (
    <Panel
      title="Flavors"
      description="Hardware that tenants can choose for dedicated endpoints of this model"
      actions={
        isWritable ? (
          <Button variant="default" onClick={() => edit('new')}>
            Add flavor
          </Button>
        ) : null
      }
    >
      {model.flavors.length === 0 ? (
        <Text c="dimmed">The model is not offered for dedicated endpoints.</Text>
      ) : (
        <DataTable
          caption="Flavors of the model"
          columns={columns(model, isWritable, edit, remove)}
          rows={model.flavors}
          rowKey={({ name }) => name}
          minWidth={480}
        />
      )}
      <Modal opened={!!edited} onClose={close} size="lg" title={edited === 'new' ? 'Add flavor' : 'Change flavor'}>
        {edited ? <FlavorForm model={read} flavor={edited === 'new' ? undefined : edited} onClose={close} /> : null}
      </Modal>
      <DeleteFlavor model={read} flavor={deleted} onClose={() => setDeleted(undefined)} />
    </Panel>
  )
}

const columns = (
  model: OperatorModel,
  isWritable: boolean,
  onEdit: (flavor: Flavor) => void,
  onDelete: (flavor: Flavor) => void,
): Column<Flavor>[] => [
  {
    id: 'name',
    header: 'Flavor',
    cell: ({ name, gpuCount, gpuType, engine }) => (
      <>
        {name}
        <Text size="sm" c="dimmed">
          {formatCount(gpuCount)} × {gpuType}, {engine ?? 'command of the file'}
        </Text>
        <Command model={model} flavor={name} />
      </>
    ),
  },
  {
    id: 'price',
    header: 'Per GPU-hour',
    align: 'right',
    cell: ({ pricePerGpuHour }) => formatPrice(pricePerGpuHour),
  },
  { id: 'uses', header: 'Endpoints', align: 'right', cell: ({ name }) => formatCount(usesOf(model, name)) },
  {
    id: 'actions',
    header: 'Actions',
    isActions: true,
    cell: (flavor) =>
      isWritable ? (
        <Group gap="xs" wrap="nowrap">
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Change ${flavor.name}`}
            onClick={() => onEdit(flavor)}
          >
            Change
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Delete ${flavor.name}`}
            onClick={() => onDelete(flavor)}
          >
            Delete
          </Button>
        </Group>
      ) : null,
  },
]

const usesOf = (model: OperatorModel, flavor: string) =>
  model.usedBy?.flavors.find((uses) => uses.flavor === flavor)?.endpoints ?? 0

/** A change of the whole list, unless the model has changed since it was read. */
function useFlavors(model: OperatorModel, done: () => void) {
  const queries = useQueryClient()
  return {
    send: (flavors: ReturnType<typeof flavorsWith>) => editModel(model.id, { version: model.version ?? 0, flavors }),
    onSuccess: () => {
      notifications.show({ title: 'Flavors saved', message: 'All nodes offer them within a second.' })
      done()
    },
    onSettled: () => refreshModels(queries),
  }
}

type FormProps = { model: OperatorModel; flavor: Flavor | undefined; onClose: () => void }

function FlavorForm({ model, flavor, onClose }: FormProps) {
  const index = flavor ? model.flavors.findIndex(({ name }) => name === flavor.name) : undefined
  const { send, ...effects } = useFlavors(model, onClose)
  const { form, sending, submit, error } = useApiForm({
    initialValues: flavor ? fieldsOf(flavor, model.engine?.weights) : EMPTY_FLAVOR,
    send: (fields) => send(flavorsWith(model, index, fields)),
    pathOf: (error) => fieldPath(error)?.replace(`flavors.${index ?? model.flavors.length}.`, ''),
    ...effects,
  })
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <FlavorFieldset
          part={partOf(form, '')}
          modelWeights={model.engine?.weights}
          modelId={model.id}
          isNew={!flavor}
        />
        {error ? <ErrorPanel error={error} title="Could not save the flavor" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button
            type="submit"
            loading={sending.isPending}
            disabled={!form.values.name.trim() || !form.values.gpuType.trim()}
          >
            Save
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

type DeleteProps = { model: OperatorModel; flavor: Flavor | undefined; onClose: () => void }

function DeleteFlavor({ model, flavor, onClose }: DeleteProps) {
  const { send, ...effects } = useFlavors(model, onClose)
  const save = useMutation({ mutationFn: send, ...effects })
  const index = model.flavors.findIndex(({ name }) => name === flavor?.name)
  const uses = usesOf(model, flavor?.name ?? '')
  return (
    <ConfirmDialog
      opened={!!flavor}
      onClose={() => {
        save.reset()
        onClose()
      }}
      title="Delete flavor"
      action="Delete flavor"
      isPending={save.isPending}
      error={save.error}
      onConfirm={() => save.mutate(flavorsWith(model, index, undefined))}
    >
      New endpoints cannot choose <Code>{flavor?.name}</Code> any more.
      {uses > 0 ? (
        <Text fw={550} mt="xs">
          Still used by {uses === 1 ? '1 endpoint, which keeps' : `${uses} endpoints, which keep`} running on it.
        </Text>
      ) : null}
    </ConfirmDialog>
  )
}
