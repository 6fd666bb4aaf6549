import { ActionIcon, Button, Select, SimpleGrid, Stack, TagsInput, Textarea, Tooltip } from '@mantine/core'
import { IconColumns2, IconX } from '@tabler/icons-react'
import type { ChatParameters } from '../../api/inference'
import { OptionalNumber } from '../../ui/OptionalNumber'
import type { ChatSetup } from './conversation'
import { comparedModel, type ModelOption, optionGroups } from './model-options'
import classes from './Playground.module.css'

type Props = {
  options: ModelOption[]
  setup: ChatSetup
  onModels: (models: string[]) => void
  onSystem: (system: string) => void
  onParameters: (parameters: ChatParameters) => void
}

const MAX_STOPS = 4
const NUMBERS = [
  { name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 0.1, isWhole: false },
  { name: 'top_p', label: 'Top P', min: 0, max: 1, step: 0.05, isWhole: false },
  { name: 'max_tokens', label: 'Max tokens', min: 1, max: undefined, step: 64, isWhole: true },
  { name: 'seed', label: 'Seed', min: 0, max: undefined, step: 1, isWhole: true },
] as const

/** Models and parameters of a chat. Empty fields are not sent. */
export function ChatSettings({ options, setup, onModels, onSystem, onParameters }: Props) {
  const { models, system, parameters } = setup
  const [model = '', compared] = models
  return (
    <Stack gap="sm">
      <Select
        label="Model"
        data={optionGroups(options, model)}
        value={model}
        searchable
        nothingFoundMessage="No model matches"
        allowDeselect={false}
        onChange={(value) => value && onModels([value, ...models.slice(1)])}
      />
      {compared === undefined ? (
        <Button
          variant="default"
          leftSection={<IconColumns2 size={16} />}
          onClick={() => onModels([model, comparedModel(options, model)])}
        >
          Compare with another model
        </Button>
      ) : (
        <div className={classes.compared}>
          <Select
            label="Compared with"
            data={optionGroups(options, compared)}
            value={compared}
            searchable
            nothingFoundMessage="No model matches"
            allowDeselect={false}
            onChange={(value) => value && onModels([model, value])}
          />
          <Tooltip label="End comparison">
            <ActionIcon variant="default" size={36} aria-label="End comparison" onClick={() => onModels([model])}>
              <IconX size={16} />
            </ActionIcon>
          </Tooltip>
        </div>
      )}
      <Textarea
        label="System prompt"
        placeholder="How the model should behave"
        rows={4}
        value={system}
        onChange={(event) => onSystem(event.currentTarget.value)}
      />
      <SimpleGrid cols={2} spacing="sm" verticalSpacing="sm">
        {NUMBERS.map(({ name, label, min, max, step, isWhole }) => (
          <OptionalNumber
            key={name}
            label={label}
            placeholder="Default"
            min={min}
            max={max}
            step={step}
            allowDecimal={!isWhole}
            value={parameters[name]}
            onChange={(value) => onParameters({ ...parameters, [name]: value })}
          />
        ))}
      </SimpleGrid>
      <TagsInput
        label="Stop sequences"
        description={`Up to ${MAX_STOPS}; press Enter to add one`}
        maxTags={MAX_STOPS}
        value={parameters.stop ?? []}
        onChange={(stop) => onParameters({ ...parameters, stop: stop.length ? stop : undefined })}
      />
    </Stack>
  )
}
