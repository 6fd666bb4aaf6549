import { Button, Group, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import {
  catalogueQuery,
  editModel,
  type ModelEdit,
  type OperatorModel,
  operatorModelQuery,
  pricesQuery,
  refreshModels,
} from '../../../api/operator/catalogue'
import { Panel } from '../../../ui/Panel'
import { SaveError } from '../../../ui/SaveError'
import { DETAIL_NAMES, DetailsFields } from './DetailsFields'
import { fieldErrors } from './errors'
import { detailsOf, editOf, hasChanges, upstreamsOf } from './fields'
import { UpstreamsFields, upstreamNames } from './UpstreamsFields'

/** Edits a snapshot of the record, so that a refetch does not change fields while the operator types. */
export function EditModel({ model }: { model: OperatorModel }) {
  const queries = useQueryClient()
  const catalogue = useQuery(catalogueQuery)
  const [snapshot, setSnapshot] = useState(model)
  const [details, setDetails] = useState(() => detailsOf(model))
  const [upstreams, setUpstreams] = useState(() => upstreamsOf(model))
  const startFrom = (record: OperatorModel) => {
    setSnapshot(record)
    setDetails(detailsOf(record))
    setUpstreams(upstreamsOf(record))
  }
  const edit = editOf(snapshot, details, upstreams)
  const isEdited = hasChanges(edit)
  if (!isEdited && model.version !== snapshot.version) startFrom(model)
  const save = useMutation({
    mutationFn: (body: ModelEdit) => editModel(model.id, body),
    onSuccess: (saved) => {
      startFrom(saved)
      queries.setQueryData(operatorModelQuery(model.id).queryKey, (known) => ({ ...saved, usedBy: known?.usedBy }))
      void refreshModels(queries)
      void queries.invalidateQueries(pricesQuery(model.id))
      notifications.show({ title: 'Model saved', message: 'All nodes apply the change within a second.' })
    },
  })
  const errors = fieldErrors(save.error, [...DETAIL_NAMES, ...upstreamNames(upstreams.length)])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate(edit)
  }
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md">
        <Panel
          title="Details and prices"
          description="A new price applies to calls from now on; earlier ones keep theirs"
        >
          <Stack gap="md">
            <DetailsFields
              fields={details}
              errors={errors}
              onChange={(change) => setDetails({ ...details, ...change })}
            />
          </Stack>
        </Panel>
        {upstreams.length > 0 ? (
          <Panel title="Servers" description="Calls go to the server with the least prompt work">
            <UpstreamsFields
              upstreams={upstreams}
              canStoreKeys={catalogue.data?.canStoreKeys ?? false}
              errors={errors}
              onChange={setUpstreams}
            />
          </Panel>
        ) : null}
        {errors.rest ? (
          <SaveError<OperatorModel>
            error={errors.rest}
            title="Could not save the model"
            onLoad={(current) => {
              save.reset()
              startFrom(current)
            }}
          />
        ) : null}
        <Group gap="xs">
          <Button type="submit" loading={save.isPending} disabled={!isEdited}>
            Save
          </Button>
          <Button variant="default" disabled={!isEdited || save.isPending} onClick={() => startFrom(model)}>
            Undo changes
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
