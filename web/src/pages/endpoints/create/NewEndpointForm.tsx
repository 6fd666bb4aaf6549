import { Button, Group, Select, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { allotmentsQuery, type NewEndpoint, tryEndpoint } from '../../../api/endpoints'
import { asFailure } from '../../../api/errors'
import { flavorsQuery, type Model } from '../../../api/models'
import { text } from '../../../ui/filters'
import { Panel } from '../../../ui/Panel'
import { useFilters } from '../../../ui/useFilters'
import { ChangeSummary } from '../allotment/ChangeSummary'
import { EndpointErrorPanel } from '../allotment/EndpointErrorPanel'
import classes from '../Endpoints.module.css'
import { ScalingForm } from '../scaling/ScalingForm'
import { boundsOf, defaultScaling, faultsOf, type ScalingFields, toScaling } from '../scaling/scaling'
import { CreateReview } from './CreateReview'
import { FlavorPicker } from './FlavorPicker'
import { nameFault } from './name'

const FILTERS = { model: text(), flavor: text() }

/** Model, flavor and scaling, and a review that the API makes; what is changed after it has to be reviewed again. */
export function NewEndpointForm({ models, workspaceId }: { models: Model[]; workspaceId: string }) {
  const [chosen, choose] = useFilters(FILTERS)
  const [name, setName] = useState('')
  const [typedScaling, setScaling] = useState<ScalingFields>()
  const [wasTried, setTried] = useState(false)
  const flavors = useQuery({ ...flavorsQuery(workspaceId, chosen.model), enabled: !!chosen.model })
  const allotments = useQuery(allotmentsQuery(workspaceId))
  const review = useMutation({ mutationFn: tryEndpoint })
  // One key for one wish: sent twice, it is one endpoint. Another wish gets another.
  const idempotencyKey = useRef('')
  const outcome = useRef<HTMLDivElement>(null)
  const isReviewed = review.isSuccess || review.isError
  // On a narrow screen the outcome stands below what is seen.
  useEffect(() => {
    if (isReviewed) outcome.current?.scrollIntoView({ block: 'nearest' })
  }, [isReviewed])
  const flavor = flavors.data?.find((one) => one.flavor === chosen.flavor) ?? only(flavors.data)
  const scaling = typedScaling ?? defaultScaling(flavor?.defaultTarget)
  const faults = faultsOf(scaling)
  const wrongName = nameFault(name)
  const forget = () => {
    if (!review.isIdle) review.reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (wrongName || !chosen.model || !flavor || Object.keys(faults).length > 0) return
    idempotencyKey.current = crypto.randomUUID?.() ?? `console-${Date.now()}-${Math.random().toString(36).slice(2)}`
    review.mutate(wishOf(name, chosen.model, flavor.flavor, scaling))
  }
  return (
    <form onSubmit={submit} noValidate>
      <div className={classes.columns}>
        <div className={classes.stack}>
          <Panel title="1. Model and name">
            <div className={classes.names}>
              <Select
                label="Model"
                description="What the endpoint serves"
                searchable
                allowDeselect={false}
                placeholder="Choose a model"
                data={models.map((model) => ({ value: model.id, label: model.name }))}
                value={chosen.model || null}
                error={wasTried && !chosen.model ? 'Choose a model' : undefined}
                onChange={(model) => {
                  forget()
                  choose({ model: model ?? '', flavor: '' })
                }}
              />
              <TextInput
                label="Name"
                description={`Called as dedicated/${name || '<name>'}`}
                placeholder="chat-prod"
                autoComplete="off"
                spellCheck={false}
                value={name}
                error={(wasTried || name) && wrongName ? wrongName : undefined}
                onChange={(event) => {
                  forget()
                  setName(event.currentTarget.value)
                }}
              />
            </div>
          </Panel>
          <Panel title="2. Flavor" description="The GPUs of one replica">
            {chosen.model ? (
              <FlavorPicker
                workspaceId={workspaceId}
                model={chosen.model}
                value={flavor?.flavor ?? ''}
                onChange={(one) => {
                  forget()
                  choose({ flavor: one })
                }}
              />
            ) : (
              <Text c="dimmed">Choose a model first; its flavors are listed here.</Text>
            )}
            {wasTried && chosen.model && !flavor && flavors.data?.length ? (
              <Text size="sm" c="var(--mantine-color-error)" mt="xs" role="alert">
                Choose a flavor
              </Text>
            ) : null}
          </Panel>
          <Panel title="3. Scaling" description="How many replicas run">
            <ScalingForm
              fields={scaling}
              defaultTarget={flavor?.defaultTarget ?? 16}
              onChange={(fields) => {
                forget()
                setScaling(fields)
              }}
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
              <Text c="dimmed">What the endpoint commits and costs is shown here.</Text>
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
                title={asFailure(review.error).field ? 'A field is not right' : 'This cannot be created'}
                gpuCount={flavor?.gpuCount}
              />
            ) : null}
            {review.data && review.variables ? (
              <CreateReview
                record={review.data}
                wish={review.variables}
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

const only = <T,>(all: T[] | undefined) => (all?.length === 1 ? all[0] : undefined)

const wishOf = (name: string, model: string, flavor: string, scaling: ScalingFields): NewEndpoint => ({
  name: name.trim(),
  model,
  flavor,
  ...toScaling(scaling),
})
