import { Button, Group, Select, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { allotmentsQuery, dryRunEndpoint, type NewEndpoint } from '../../../api/endpoints'
import { toApiError } from '../../../api/errors'
import { flavorsQuery, type Model } from '../../../api/models'
import { text } from '../../../ui/filters'
import { newId } from '../../../ui/new-id'
import { Panel } from '../../../ui/Panel'
import { useFilters } from '../../../ui/useFilters'
import { ChangeSummary } from '../allotment/ChangeSummary'
import { EndpointErrorPanel } from '../allotment/EndpointErrorPanel'
import classes from '../Endpoints.module.css'
import { ScalingForm } from '../scaling/ScalingForm'
import { boundsOf, defaultScaling, fieldErrorsOf, type ScalingFields, toScaling } from '../scaling/scaling'
import { CreateReview } from './CreateReview'
import { FlavorPicker } from './FlavorPicker'
import { nameError } from './name'

const FILTERS = { model: text(), flavor: text() }

/** Form for model, flavor and scaling, with a review by dry run. Any change after the review requires a new one. */
export function NewEndpointForm({ models, workspaceId }: { models: Model[]; workspaceId: string }) {
  const [selection, select] = useFilters(FILTERS)
  const flavors = useQuery({ ...flavorsQuery(workspaceId, selection.model), enabled: !!selection.model })
  const allotments = useQuery(allotmentsQuery(workspaceId))
  const review = useMutation({
    mutationFn: dryRunEndpoint,
    onError: (error) => {
      const { code, message } = toApiError(error)
      if (code === 'ENDPOINT_NAME_IN_USE') form.setFieldError('name', message)
    },
  })
  // One key per reviewed request, so that sending it twice creates one endpoint.
  const idempotencyKey = useRef('')
  const outcome = useRef<HTMLDivElement>(null)
  const isReviewed = review.isSuccess || review.isError
  // On narrow screens the outcome is below the visible part of the page.
  useEffect(() => {
    if (isReviewed) outcome.current?.scrollIntoView({ block: 'nearest' })
  }, [isReviewed])
  const flavor = flavors.data?.find((one) => one.flavor === selection.flavor) ?? single(flavors.data)
  const resetReview = () => {
    if (!review.isIdle) review.reset()
  }
  const scalingFrom = (edited: ScalingFields | undefined) => edited ?? defaultScaling(flavor?.defaultTarget)
  const form = useForm({
    initialValues: { name: '', scaling: undefined as ScalingFields | undefined },
    onValuesChange: resetReview,
    validateInputOnChange: ['name'],
    validate: ({ name, scaling }) => ({
      name: nameError(name),
      model: selection.model ? undefined : 'Choose a model',
      flavor: flavor ? undefined : 'Choose a flavor',
      ...fieldErrorsOf(scalingFrom(scaling)),
    }),
  })
  const scaling = scalingFrom(form.values.scaling)
  const submit = form.onSubmit(({ name }) => {
    if (!selection.model || !flavor) return
    idempotencyKey.current = newId()
    review.mutate(newEndpointOf(name, selection.model, flavor.flavor, scaling))
  })
  return (
    <form onSubmit={submit} noValidate>
      <div className={classes.columns}>
        <div className={classes.stack}>
          <Panel title="1. Model and name">
            <div className={classes.names}>
              <Select
                label="Model"
                description="The model to serve"
                searchable
                allowDeselect={false}
                placeholder="Choose a model"
                data={models.map((model) => ({ value: model.id, label: model.name }))}
                value={selection.model || null}
                error={selection.model ? undefined : form.errors.model}
                onChange={(model) => {
                  resetReview()
                  select({ model: model ?? '', flavor: '' })
                }}
              />
              <TextInput
                label="Name"
                description={`Called as dedicated/${form.values.name || '<name>'}`}
                placeholder="chat-prod"
                autoComplete="off"
                spellCheck={false}
                {...form.getInputProps('name')}
              />
            </div>
          </Panel>
          <Panel title="2. Flavor" description="GPUs per replica">
            {selection.model ? (
              <FlavorPicker
                workspaceId={workspaceId}
                model={selection.model}
                value={flavor?.flavor ?? ''}
                onChange={(one) => {
                  resetReview()
                  select({ flavor: one })
                }}
              />
            ) : (
              <Text c="dimmed">Choose a model to see its flavors.</Text>
            )}
            {form.errors.flavor && selection.model && !flavor && flavors.data?.length ? (
              <Text size="sm" c="var(--mantine-color-error)" mt="xs" role="alert">
                Choose a flavor
              </Text>
            ) : null}
          </Panel>
          <Panel title="3. Scaling" description="How many replicas to run">
            <ScalingForm
              fields={scaling}
              defaultTarget={flavor?.defaultTarget ?? 16}
              onChange={(fields) => form.setFieldValue('scaling', fields)}
            />
          </Panel>
        </div>
        <div className={`${classes.stack} ${classes.sticky}`}>
          <Panel title="4. Review">
            {flavor ? (
              <ChangeSummary
                flavor={flavor}
                bounds={boundsOf(scaling)}
                ledger={allotments.data?.find((line) => line.gpuType === flavor.gpuType)}
              />
            ) : (
              <Text c="dimmed">Committed GPUs and cost appear here.</Text>
            )}
            <Group mt="md">
              {review.data ? null : (
                <Button type="submit" loading={review.isPending}>
                  Review
                </Button>
              )}
            </Group>
          </Panel>
          <div ref={outcome}>
            {review.error ? (
              <EndpointErrorPanel
                error={review.error}
                title={toApiError(review.error).field ? 'A field is invalid' : 'The endpoint cannot be created'}
                gpuCount={flavor?.gpuCount}
              />
            ) : null}
            {review.data && review.variables ? (
              <CreateReview
                record={review.data}
                request={review.variables}
                idempotencyKey={idempotencyKey.current}
                gpuCount={flavor?.gpuCount}
              />
            ) : null}
          </div>
        </div>
      </div>
    </form>
  )
}

const single = <T,>(all: T[] | undefined) => (all?.length === 1 ? all[0] : undefined)

const newEndpointOf = (name: string, model: string, flavor: string, scaling: ScalingFields): NewEndpoint => ({
  name: name.trim(),
  model,
  flavor,
  ...toScaling(scaling),
})
