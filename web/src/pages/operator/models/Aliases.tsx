import { Button, Modal, Select, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApiForm } from '../../../api/form'
import {
  catalogueAliasesQuery,
  changeAlias,
  createAlias,
  deleteAlias,
  type OperatorAlias,
  operatorModelsQuery,
  refreshCatalogueAliases,
} from '../../../api/operator/catalogue'
import { AliasTable } from '../../../ui/AliasTable'
import type { Column } from '../../../ui/DataTable'
import { DialogButtons } from '../../../ui/DialogButtons'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { SaveError } from '../../../ui/SaveError'
import { TableSkeleton } from '../../../ui/Skeletons'
import { SOURCE_LABELS } from './source'

const SOURCE: Column<OperatorAlias> = {
  id: 'source',
  header: 'Defined in',
  cell: ({ source }) => SOURCE_LABELS[source] ?? source,
}

/** Aliases for all workspaces. Those of the file are read-only. */
export function Aliases({ isWritable }: { isWritable: boolean }) {
  const queries = useQueryClient()
  const aliases = useQuery(catalogueAliasesQuery)
  const [edited, setEdited] = useState<OperatorAlias | 'new'>()
  const close = () => setEdited(undefined)
  return (
    <Panel
      title="Aliases"
      description="Other names of models, for all workspaces. A name may end with * to match all names that begin with it"
      actions={
        isWritable ? (
          <Button variant="default" onClick={() => setEdited('new')}>
            Add alias
          </Button>
        ) : null
      }
    >
      <Loaded query={aliases} skeleton={<TableSkeleton rows={2} />} errorTitle="The aliases could not be loaded">
        {(all) => (
          <AliasTable
            caption="Aliases of the catalogue"
            empty="No model has an alias."
            aliases={all}
            columns={[SOURCE]}
            isWritable={({ source }) => isWritable && source === 'store'}
            onChange={setEdited}
            remove={({ name }) => deleteAlias(name).finally(() => refreshCatalogueAliases(queries))}
          />
        )}
      </Loaded>
      <Modal opened={!!edited} onClose={close} title={edited === 'new' ? 'Add alias' : 'Change alias'}>
        {edited ? <AliasForm alias={edited === 'new' ? undefined : edited} onClose={close} /> : null}
      </Modal>
    </Panel>
  )
}

type FormProps = { alias: OperatorAlias | undefined; onClose: () => void }

const fieldsOf = (alias: OperatorAlias | undefined) => ({
  name: alias?.name ?? '',
  model: alias?.model ?? '',
  version: alias?.version ?? 0,
})

/** A conflict shows the current target, and saving again changes that one. */
function AliasForm({ alias, onClose }: FormProps) {
  const models = useQuery(operatorModelsQuery)
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: fieldsOf(alias),
    send: ({ name, model, version }) =>
      alias ? changeAlias(alias.name, version, model) : createAlias(name.trim(), model),
    onSuccess: (saved) => {
      notifications.show({ title: 'Alias saved', message: `${saved.name} now means ${saved.model}, on all nodes.` })
      onClose()
    },
    onSettled: () => refreshCatalogueAliases(queries),
  })
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
          {...form.getInputProps('name')}
        />
        <Select
          label="Model"
          placeholder="Choose a model"
          required
          searchable
          allowDeselect={false}
          data={(models.data ?? []).map(({ id }) => id)}
          {...form.getInputProps('model')}
          value={form.values.model || null}
        />
        {error ? (
          <SaveError<OperatorAlias>
            error={error}
            title="Could not save the alias"
            onLoad={(current) => {
              sending.reset()
              form.setValues(fieldsOf(current))
            }}
          />
        ) : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!form.values.name.trim() || !form.values.model}>
            Save
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}
