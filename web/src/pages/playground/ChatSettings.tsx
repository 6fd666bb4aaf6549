import { SegmentedControl, SimpleGrid, Stack, TagsInput, Textarea } from '@mantine/core'
import { useState } from 'react'
import type { ChatParameters } from '../../api/inference'
import { formatCount } from '../../ui/format'
import { OptionalNumber } from '../../ui/OptionalNumber'
import { ChatExtras } from './ChatExtras'
import type { ChatSetup } from './conversation'
import { LaneModels } from './LaneModels'
import { lackingIn } from './lacking'
import type { ModelOption } from './model-options'

type Props = {
  options: ModelOption[]
  setup: ChatSetup
  onModels: (models: string[]) => void
  onSystem: (system: string) => void
  onParameters: (parameters: ChatParameters) => void
  /** Parameters of one lane, which override those of all. */
  onLane: (lane: number, parameters: ChatParameters) => void
}

const MAX_STOPS = 4
const NUMBERS = [
  { name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 0.1, isWhole: false },
  { name: 'top_p', label: 'Top P', min: 0, max: 1, step: 0.05, isWhole: false },
  { name: 'max_tokens', label: 'Max tokens', min: 1, max: undefined, step: 64, isWhole: true },
  { name: 'seed', label: 'Seed', min: 0, max: undefined, step: 1, isWhole: true },
] as const
const ALL = 'all'

/** Models and parameters of a chat. Empty fields are not sent. */
export function ChatSettings({ options, setup, onModels, onSystem, onParameters, onLane }: Props) {
  const { models, system, parameters } = setup
  const [chosen, setChosen] = useState(ALL)
  const lane = chosen === ALL || Number(chosen) >= models.length ? undefined : Number(chosen)
  const shown = lane === undefined ? parameters : (setup.lanes?.[lane] ?? {})
  const change = (changed: Partial<ChatParameters>) =>
    lane === undefined ? onParameters({ ...shown, ...changed }) : onLane(lane, { ...shown, ...changed })
  return (
    <Stack gap="sm">
      <LaneModels options={options} models={models} onModels={onModels} />
      <Textarea
        label="System prompt"
        placeholder="How the model should behave"
        rows={4}
        value={system}
        onChange={(event) => onSystem(event.currentTarget.value)}
      />
      {models.length > 1 ? (
        <SegmentedControl
          fullWidth
          aria-label="Parameters for all models, or for one"
          data={[{ value: ALL, label: 'All' }, ...models.map((_, at) => ({ value: `${at}`, label: `${at + 1}` }))]}
          value={lane === undefined ? ALL : chosen}
          onChange={setChosen}
        />
      ) : null}
      <SimpleGrid cols={2} spacing="sm" verticalSpacing="sm">
        {NUMBERS.map(({ name, label, min, max, step, isWhole }) => (
          <OptionalNumber
            key={name}
            label={label}
            placeholder={lane === undefined ? 'Default' : 'As for all'}
            description={
              name === 'max_tokens' ? roomOf(options, models) : max === undefined ? undefined : `${min} to ${max}`
            }
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            min={min}
            max={max}
            step={step}
            allowDecimal={!isWhole}
            value={shown[name]}
            onChange={(value) => change({ [name]: value })}
          />
        ))}
      </SimpleGrid>
      <TagsInput
        label="Stop sequences"
        description={`Up to ${MAX_STOPS}; press Enter to add one`}
        maxTags={MAX_STOPS}
        value={shown.stop ?? []}
        onChange={(stop) => change({ stop: stop.length ? stop : undefined })}
      />
      <ChatExtras
        key={lane ?? ALL}
        parameters={shown}
        lacking={lackingIn(lane === undefined ? models : models.slice(lane, lane + 1), options)}
        onChange={change}
      />
    </Stack>
  )
}

/** The prompt and the response share the context of a model. */
function roomOf(options: readonly ModelOption[], models: readonly string[]): string | undefined {
  const contexts = options.filter(({ id }) => models.includes(id)).flatMap(({ contextLength }) => contextLength ?? [])
  return contexts.length === 0 ? undefined : `Below ${formatCount(Math.min(...contexts))}, with the prompt`
}
