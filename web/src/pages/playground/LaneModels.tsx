import { ActionIcon, Button, Select, Tooltip } from '@mantine/core'
import { IconColumns2, IconX } from '@tabler/icons-react'
import { MAX_LANES } from './conversation'
import { comparedModel, type ModelOption, optionGroups } from './model-options'
import classes from './Playground.module.css'

type Props = { options: ModelOption[]; models: string[]; onModels: (models: string[]) => void }

/** The models that respond side by side. */
export function LaneModels({ options, models, onModels }: Props) {
  const [model = ''] = models
  const replace = (lane: number, chosen: string) =>
    onModels(models.map((one, index) => (index === lane ? chosen : one)))
  return (
    <>
      {models.map((chosen, lane) => {
        const removal = models.length === 2 ? 'End comparison' : `Remove model ${lane + 1}`
        const select = (
          <Select
            label={lane === 0 ? 'Model' : models.length === 2 ? 'Compared with' : `Model ${lane + 1}`}
            data={optionGroups(options, chosen)}
            value={chosen}
            searchable
            nothingFoundMessage="No model matches"
            allowDeselect={false}
            onChange={(value) => value && replace(lane, value)}
          />
        )
        // biome-ignore lint/suspicious/noArrayIndexKey: a lane is identified by its index; several may use the same model.
        if (lane === 0) return <div key={lane}>{select}</div>
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above.
          <div key={lane} className={classes.compared}>
            {select}
            <Tooltip label={removal}>
              <ActionIcon
                variant="default"
                size={36}
                aria-label={removal}
                onClick={() => onModels(models.filter((_, index) => index !== lane))}
              >
                <IconX size={16} />
              </ActionIcon>
            </Tooltip>
          </div>
        )
      })}
      {models.length < MAX_LANES ? (
        <Button
          variant="default"
          leftSection={<IconColumns2 size={16} />}
          onClick={() => onModels([...models, comparedModel(options, model)])}
        >
          {models.length === 1 ? 'Compare with another model' : 'Add another model'}
        </Button>
      ) : null}
    </>
  )
}
