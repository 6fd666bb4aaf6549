import { Button, Group, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { partOf, useApiForm } from '../../../api/form'
import {
  catalogueQuery,
  editModel,
  type OperatorModel,
  operatorModelQuery,
  pricesQuery,
  refreshModels,
} from '../../../api/operator/catalogue'
import { Panel } from '../../../ui/Panel'
import { SaveError } from '../../../ui/SaveError'
import { DetailsFields } from './DetailsFields'
import { detailsOf, editOf, hasChanges, upstreamsOf } from './fields'
import { UpstreamsFields } from './UpstreamsFields'

/** The fields of a model, and the record that they were read from. */
const fieldsOf = (model: OperatorModel) => ({ ...detailsOf(model), upstreams: upstreamsOf(model), read: model })

/** Edits a snapshot of the record, so that a refetch does not change fields while the operator types. */
export function EditModel({ model }: { model: OperatorModel }) {
  const queries = useQueryClient()
  const catalogue = useQuery(catalogueQuery)
  const { form, sending, submit, error } = useApiForm({
    initialValues: fieldsOf(model),
    send: ({ read, upstreams, ...details }) => editModel(model.id, editOf(read, details, upstreams)),
    onSuccess: (saved) => {
      form.setValues(fieldsOf(saved))
      // A saved record lacks what only the page of a single model has, such as its uses and capabilities.
      queries.setQueryData(operatorModelQuery(model.id).queryKey, (known) => ({ ...known, ...saved }))
      void refreshModels(queries)
      void queries.invalidateQueries(pricesQuery(model.id))
      notifications.show({ title: 'Model saved', message: 'All nodes apply the change within a second.' })
    },
  })
  const { read, upstreams, ...details } = form.values
  const isEdited = hasChanges(editOf(read, details, upstreams))
  useEffect(() => {
    if (!isEdited && model.version !== read.version) form.setValues(fieldsOf(model))
  })
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md">
        <Panel
          title="Details and prices"
          description="A new price applies to calls from now on; earlier ones keep theirs"
        >
          <Stack gap="md">
            <DetailsFields part={partOf(form, '')} />
          </Stack>
        </Panel>
        {upstreams.length > 0 ? (
          <Panel title="Servers" description="Calls go to the server with the least prompt work">
            <UpstreamsFields form={form} canStoreKeys={catalogue.data?.canStoreKeys ?? false} />
          </Panel>
        ) : null}
        {error ? (
          <SaveError<OperatorModel>
            error={error}
            title="Could not save the model"
            onLoad={(current) => {
              sending.reset()
              form.setValues(fieldsOf(current))
            }}
          />
        ) : null}
        <Group gap="xs">
          <Button type="submit" loading={sending.isPending} disabled={!isEdited}>
            Save
          </Button>
          <Button
            variant="default"
            disabled={!isEdited || sending.isPending}
            onClick={() => form.setValues(fieldsOf(model))}
          >
            Undo changes
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
