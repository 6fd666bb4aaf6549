import { Button, Stack, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { fieldPath } from '../../../../api/errors'
import { partOf, useApiForm } from '../../../../api/form'
import { catalogueQuery, createModel, refreshModels } from '../../../../api/operator/catalogue'
import { paths } from '../../../../paths'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { OptionalNumber } from '../../../../ui/OptionalNumber'
import { Panel } from '../../../../ui/Panel'
import { DetailsFields } from '../DetailsFields'
import { type DetailFields, EMPTY_DETAILS } from '../fields'
import { FlavorFieldset } from '../flavors/FlavorFieldset'
import { RecipeHint } from '../RecipeHint'
import { detailsChange, optionsOf, recipeOf, versionNote } from '../recipes'
import { contextOf, useSuggestions, useWeightsLookup } from '../suggestions'
import { type Found, fieldsOf, type NewModelFields, toNewModel } from './new-model'

type Props = {
  title: string
  found: Found
  /** Of the server that is connected, if it says so. */
  serverVersion?: string | null | undefined
}

/** The last step of all sources: id, what serves the model, name, prices and limits. */
export function NewModelForm({ title, found, serverVersion }: Props) {
  const queries = useQueryClient()
  const router = useRouter()
  const catalogue = useQuery(catalogueQuery)
  const { form, sending, submit, error } = useApiForm({
    initialValues: fieldsOf(found),
    send: (fields) => createModel(toNewModel(fields)),
    pathOf: shownPath,
    onSuccess: (model) => {
      const message =
        'engine' in found
          ? 'The engine starts now; it can be called when it is available.'
          : `${model.id} can be called now. Send it a test call.`
      notifications.show({ title: 'Model added', message })
      void refreshModels(queries)
      router.history.push(paths.operatorModel(model.id))
    },
  })
  const flavor = 'flavors' in form.values ? form.values.flavors[0] : undefined
  const lookup = useWeightsLookup(flavor?.weights)
  useSuggestions(
    partOf<DetailFields>(form, ''),
    EMPTY_DETAILS,
    flavor && lookup ? { contextLength: contextOf(lookup, flavor.engine) } : {},
  )
  return (
    <form onSubmit={submit} noValidate>
      <Panel title={title}>
        <Stack gap="md">
          <TextInput
            label="Model ID"
            description={`The name that clients send: a provider, a slash and a name. ${prefixHint(catalogue.data?.operatorPrefix)}`}
            placeholder="acme/tiny-chat"
            required
            maw={520}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps('id')}
          />
          <ServingFields form={form} />
          <ModelRecipe form={form} architecture={lookup?.architecture} serverVersion={serverVersion} />
          <DetailsFields part={partOf(form, '')} />
          {error ? <ErrorPanel error={error} title="Could not add the model" /> : null}
          <Button type="submit" w="fit-content" loading={sending.isPending} disabled={!form.values.id.trim()}>
            Add model
          </Button>
        </Stack>
      </Panel>
    </form>
  )
}

const prefixHint = (prefix: string | undefined) =>
  prefix ? `${prefix}/ marks an optimized build, the author’s name raw weights.` : ''

/** What was chosen in the steps before has no field here; errors of weights are shown at the number of engines. */
function shownPath(error: Error): string | undefined {
  const path = fieldPath(error)?.replace(/^engine(\.weights)?$/, 'engine.replicas')
  return path?.startsWith('upstreams') && path !== 'upstreams.0.maxInFlight' ? undefined : path
}

type RecipeProps = {
  form: UseFormReturnType<NewModelFields>
  architecture: string | null | undefined
  serverVersion: string | null | undefined
}

/** The built-in engine needs none. */
function ModelRecipe({ form, architecture, serverVersion }: RecipeProps) {
  const { values } = form
  const server = 'upstreams' in values ? values.upstreams[0] : undefined
  const flavor = 'flavors' in values ? values.flavors[0] : undefined
  const recipe = recipeOf(values.id, server?.model, flavor?.weights, architecture)
  if (!recipe || values.modality !== 'chat' || (server ?? flavor) === undefined) return null
  const change = detailsChange(recipe, values)
  const changes: [string, string | number | undefined][] = [
    ['Thinking toggle', change.thinking],
    ['Context length', change.contextLength],
  ]
  return (
    <RecipeHint
      recipe={recipe}
      options={optionsOf(recipe, server?.engine ?? '', serverVersion)}
      versions={server?.engine ? versionNote(recipe, server.engine, serverVersion) : undefined}
      changes={changes.filter(([, value]) => value !== undefined)}
      onApply={() => partOf<DetailFields>(form, '').change(change)}
    />
  )
}

function ServingFields({ form }: { form: UseFormReturnType<NewModelFields> }) {
  if ('flavors' in form.values) {
    return <FlavorFieldset part={partOf(form, 'flavors.0')} modelWeights={undefined} modelId={form.values.id} isNew />
  }
  if ('upstreams' in form.values) {
    return (
      <OptionalNumber
        label="Maximum concurrent calls"
        description="Further calls wait or are rejected"
        placeholder="No limit"
        min={1}
        maw={520}
        allowDecimal={false}
        {...form.getInputProps('upstreams.0.maxInFlight')}
      />
    )
  }
  return (
    <>
      <OptionalNumber
        label="Engines"
        description="On every node; each needs the memory above"
        min={1}
        maw={520}
        allowDecimal={false}
        {...form.getInputProps('engine.replicas')}
      />
      {form.values.modality === 'embedding' ? null : (
        <OptionalNumber
          label="Calls at once"
          description="That an engine computes; further ones wait. Default: 8"
          min={1}
          max={64}
          maw={520}
          allowDecimal={false}
          {...form.getInputProps('engine.parallel')}
        />
      )}
      <TextInput
        label="Further options of the engine"
        description="Added to its command, separated by spaces. The console sets them only when the model is added"
        placeholder="--kv-cache-tokens 65536"
        maw={520}
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps('engine.args')}
      />
    </>
  )
}
