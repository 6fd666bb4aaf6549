import { Autocomplete, Fieldset, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { FormPart } from '../../../../api/form'
import { gpuTypesQuery } from '../../../../api/operator/catalogue'
import { Folded } from '../../../../ui/Folded'
import { OptionalNumber } from '../../../../ui/OptionalNumber'
import { RecipeHint } from '../RecipeHint'
import { flavorChange, recipeOf, versionNote } from '../recipes'
import { precisionOf, useSuggestions, useWeightsLookup } from '../suggestions'
import { FlavorFit, useFlavorFit } from './FlavorFit'
import { EMPTY_FLAVOR, type FlavorFields, placesOf, suggestName } from './flavor-fields'

const DRIVERS = [
  { value: 'process', label: 'Processes on the nodes' },
  { value: 'kubernetes', label: 'Pods of the cluster' },
]
const ENGINES = ['forebay-engine', 'vllm', 'sglang', 'llama-server']

type Props = {
  part: FormPart<FlavorFields>
  /** Those of the model, which a flavor without its own has. */
  modelWeights: string | undefined
  modelId: string
  /** Fields of a new flavor are filled with what is known. */
  isNew: boolean
}

/** The hardware of a flavor, with a check whether it fits, and what endpoints on it cost. */
export function FlavorFieldset({ part: { fields, input, change }, modelWeights, modelId, isNew }: Props) {
  const types = useQuery(gpuTypesQuery)
  const known = types.data ?? []
  const hasParsers = fields.engine === 'vllm' || fields.engine === 'sglang'
  /** A name that was not typed follows the hardware; the type chooses what runs it. */
  const setHardware = (gpuType: string, gpuCount: number | undefined) => {
    const isSuggested = fields.name === '' || fields.name === suggestName(fields.gpuType, fields.gpuCount)
    const drivers = known.filter((one) => one.gpuType === gpuType).map(({ driver }) => driver)
    const driver = drivers.length === 0 || drivers.includes(fields.driver) ? fields.driver : (drivers[0] ?? '')
    change({ gpuType, gpuCount, driver, ...(isSuggested ? { name: suggestName(gpuType, gpuCount) } : {}) })
  }
  const weights = fields.weights || modelWeights
  const fit = useFlavorFit({ gpuType: fields.gpuType, gpuCount: fields.gpuCount ?? 1, driver: fields.driver, weights })
  const { models = [], architecture } = useWeightsLookup(isNew ? weights : undefined) ?? {}
  const [only] = models.length === 1 ? models : []
  const fewest = fit.data?.fewestGpus
  useSuggestions(
    {
      fields,
      change: ({ gpuCount, ...others }) => {
        change(others)
        if (gpuCount) setHardware(fields.gpuType, gpuCount)
      },
    },
    EMPTY_FLAVOR,
    isNew ? { precision: precisionOf(only?.name ?? weights ?? ''), ...(fewest ? { gpuCount: fewest } : {}) } : {},
  )
  return (
    <Stack gap="sm">
      <Fieldset legend="Hardware">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          <Autocomplete
            label="GPU type"
            description="As nodes report it, or the cluster’s configuration"
            placeholder="nvidia/h100-sxm-80gb"
            required
            data={[...new Set(known.map(({ gpuType }) => gpuType))]}
            renderOption={({ option }) => (
              <span>
                {option.value},{' '}
                {known
                  .filter(({ gpuType }) => gpuType === option.value)
                  .map(placesOf)
                  .join(', ')}
              </span>
            )}
            {...input('gpuType')}
            onChange={(gpuType) => setHardware(gpuType, fields.gpuCount)}
          />
          <OptionalNumber
            label="GPUs per replica"
            description="All on one node"
            min={1}
            max={1024}
            allowDecimal={false}
            {...input('gpuCount')}
            onChange={(gpuCount) => setHardware(fields.gpuType, gpuCount)}
          />
        </SimpleGrid>
        <FlavorFit fit={fit} />
      </Fieldset>
      <Fieldset legend="What replicas run">
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
          <TextInput
            label="Weights of the flavor"
            description="A path on the nodes, or an hf:// reference"
            placeholder={modelWeights ? 'As the model' : '/srv/models/tiny.gguf'}
            autoComplete="off"
            spellCheck={false}
            {...input('weights')}
          />
          <Select
            label="Engine of replicas"
            description="The program that runs them"
            data={ENGINES}
            allowDeselect={false}
            {...input('engine')}
          />
          <Select
            label="Run as"
            description="Where the engine is started"
            data={DRIVERS}
            allowDeselect={false}
            {...input('driver')}
          />
        </SimpleGrid>
      </Fieldset>
      <Fieldset legend="What tenants see">
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
          <TextInput
            label="Flavor name"
            description="What tenants choose"
            placeholder="h100-1x"
            required
            autoComplete="off"
            spellCheck={false}
            {...input('name')}
          />
          <TextInput
            label="Price per GPU-hour"
            description="USD"
            placeholder="0"
            inputMode="decimal"
            autoComplete="off"
            {...input('pricePerGpuHour')}
          />
          <TextInput
            label="Precision"
            description="Shown to tenants"
            placeholder="auto"
            autoComplete="off"
            spellCheck={false}
            {...input('precision')}
          />
        </SimpleGrid>
      </Fieldset>
      <FlavorRecipe fields={fields} names={[fields.weights, modelWeights, modelId, architecture]} onApply={change} />
      <Folded
        title="Options of the engine"
        isOpen={[fields.args, fields.toolParser, fields.reasoningParser, fields.maxLen].some(Boolean)}
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          {hasParsers ? (
            <>
              <TextInput
                label="Tool parser"
                description="The engine’s name for how the model writes tool calls"
                placeholder="hermes"
                autoComplete="off"
                spellCheck={false}
                {...input('toolParser')}
              />
              <TextInput
                label="Reasoning parser"
                description="The same for its reasoning"
                placeholder="None"
                autoComplete="off"
                spellCheck={false}
                {...input('reasoningParser')}
              />
            </>
          ) : null}
          <TextInput
            label="Further options"
            description="Added to the engine’s command, separated by spaces"
            placeholder={hasParsers ? '--dtype bfloat16' : 'None'}
            autoComplete="off"
            spellCheck={false}
            {...input('args')}
          />
          <OptionalNumber
            label="Longest context"
            description="In tokens"
            placeholder="As the model"
            min={1}
            allowDecimal={false}
            thousandSeparator=","
            {...input('maxLen')}
          />
        </SimpleGrid>
      </Folded>
      <Folded title="When endpoints scale up" isOpen={[fields.defaultTarget, fields.prefillTarget].some(Boolean)}>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          <OptionalNumber
            label="Calls per replica"
            description="Scales up above this number of concurrent calls"
            placeholder="Default"
            min={1}
            allowDecimal={false}
            {...input('defaultTarget')}
          />
          <OptionalNumber
            label="Prompt tokens per replica"
            description="Scales up above this number of prompt tokens in flight; 0 turns it off"
            placeholder="32,768"
            min={0}
            allowDecimal={false}
            thousandSeparator=","
            {...input('prefillTarget')}
          />
        </SimpleGrid>
      </Folded>
    </Stack>
  )
}

type RecipeProps = {
  fields: FlavorFields
  names: (string | null | undefined)[]
  onApply: (change: Partial<FlavorFields>) => void
}

function FlavorRecipe({ fields, names, onApply }: RecipeProps) {
  const recipe = recipeOf(...names)
  if (!recipe) return null
  const change = flavorChange(recipe, fields)
  const changes: [string, string | undefined][] = [
    ['Tool parser', change.toolParser],
    ['Reasoning parser', change.reasoningParser],
  ]
  const made = changes.filter(([, value]) => value)
  const versions = made.length > 0 ? versionNote(recipe, fields.engine) : undefined
  return <RecipeHint recipe={recipe} versions={versions} changes={made} onApply={() => onApply(change)} />
}
