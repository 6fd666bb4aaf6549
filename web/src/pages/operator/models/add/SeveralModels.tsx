import { Anchor, Button, Group, MultiSelect, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { toApiError } from '../../../../api/errors'
import { createModel, refreshModels, type UpstreamProbe } from '../../../../api/operator/catalogue'
import { paths } from '../../../../paths'
import { Link } from '../../../../ui/Link'
import { Panel } from '../../../../ui/Panel'
import { StatusBadge } from '../../../../ui/StatusBadge'
import { type OfferedModel, type Outcome, remaining, requestOf, suggestModel } from './several-models'

const MODALITIES = [
  { value: 'chat', label: 'Chat' },
  { value: 'embedding', label: 'Embedding' },
]
/** More are found by typing. */
const MAX_SHOWN = 100

type Props = { probe: UpstreamProbe; apiKey: string }

/** Adds several models of a server one after another. Prices and limits are set on their pages. */
export function SeveralModels({ probe, apiKey }: Props) {
  const queries = useQueryClient()
  const [models, setModels] = useState<OfferedModel[]>([])
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map())
  const left = remaining(models, outcomes)
  const add = useMutation({
    mutationFn: async () => {
      for (const model of left) {
        const outcome = await createModel(requestOf(probe, apiKey, model)).then(
          (): Outcome => ({ kind: 'added' }),
          (error): Outcome => ({ kind: 'failed', message: toApiError(error).message }),
        )
        setOutcomes((before) => new Map(before).set(model.offered, outcome))
      }
    },
    onSettled: () => refreshModels(queries),
  })
  const choose = (offered: string[]) =>
    setModels(offered.map((one) => models.find((model) => model.offered === one) ?? suggestModel(one)))
  const change = (offered: string, changed: Partial<OfferedModel>) =>
    setModels(models.map((model) => (model.offered === offered ? { ...model, ...changed } : model)))
  return (
    <Panel title="3. Models" description="Free of charge until you set prices on their pages">
      <Stack gap="md">
        <Group align="flex-end" gap="sm">
          <MultiSelect
            label="Models to offer"
            placeholder="Choose models"
            flex="1 1 20rem"
            data={probe.models.map(({ id }) => id)}
            limit={MAX_SHOWN}
            value={models.map(({ offered }) => offered)}
            onChange={choose}
            searchable
            clearable
            disabled={add.isPending}
          />
          <Button
            variant="default"
            disabled={add.isPending}
            onClick={() => choose(probe.models.map(({ id }) => id).slice(0, MAX_SHOWN))}
          >
            All
          </Button>
        </Group>
        {models.map((model) => (
          <ModelRow
            key={model.offered}
            model={model}
            outcome={outcomes.get(model.offered)}
            isPending={add.isPending}
            onChange={(changed) => change(model.offered, changed)}
          />
        ))}
        <Button
          w="fit-content"
          loading={add.isPending}
          disabled={left.length === 0 || left.some(({ id }) => !id.trim())}
          onClick={() => add.mutate()}
        >
          Add {left.length === 1 ? '1 model' : `${left.length} models`}
        </Button>
      </Stack>
    </Panel>
  )
}

type RowProps = {
  model: OfferedModel
  outcome: Outcome | undefined
  isPending: boolean
  onChange: (changed: Partial<OfferedModel>) => void
}

function ModelRow({ model: { offered, id, modality }, outcome, isPending, onChange }: RowProps) {
  if (outcome?.kind === 'added') {
    return (
      <Group gap="sm">
        <StatusBadge tone="ok">Added</StatusBadge>
        <Anchor component={Link} href={paths.operatorModel(id.trim())}>
          {id.trim()}
        </Anchor>
      </Group>
    )
  }
  return (
    <Group gap="sm" align="flex-start">
      <Text size="sm" flex="1 1 12rem" style={{ overflowWrap: 'anywhere' }} pt={8}>
        {offered}
      </Text>
      <TextInput
        aria-label={`Model ID of ${offered}`}
        flex="2 1 14rem"
        autoComplete="off"
        spellCheck={false}
        value={id}
        error={outcome?.message}
        disabled={isPending}
        onChange={(event) => onChange({ id: event.currentTarget.value })}
      />
      <Select
        aria-label={`Modality of ${offered}`}
        w={140}
        data={MODALITIES}
        allowDeselect={false}
        value={modality}
        disabled={isPending}
        onChange={(value) => onChange({ modality: value === 'embedding' ? 'embedding' : 'chat' })}
      />
    </Group>
  )
}
