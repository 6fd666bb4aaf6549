import { Code, Stack, Text } from '@mantine/core'
import type { OperatorModel } from '../../../api/operator/catalogue'
import { type Column, DataTable } from '../../../ui/DataTable'
import { Facts } from '../../../ui/Facts'
import { formatCount, formatPrice } from '../../../ui/format'
import { modalityLabel } from '../../../ui/modality'
import { Panel } from '../../../ui/Panel'
import { StateBadge } from '../../../ui/StateBadge'
import { displayIn } from '../../../ui/states'
import { Command } from './Command'
import { SOURCE_LABELS, servedBy, usesOf } from './source'

/** The values in force, for models that cannot be changed here. */
export function ModelFacts({ model }: { model: OperatorModel }) {
  return (
    <Panel title="Definition" description="Defined in the configuration file; change it there and reload">
      <Facts
        rows={[
          ['Modality', modalityLabel(model.modality)],
          ['Context length', `${formatCount(model.contextLength)} tokens`],
          ['Input', `${formatPrice(model.inputPer1m)} per million tokens`],
          ['Cached input', `${formatPrice(model.cachedInputPer1m)} per million tokens`],
          ['Output', `${formatPrice(model.outputPer1m)} per million tokens`],
          ...(model.modality === 'rerank'
            ? [['Searches', `${formatPrice(model.per1kSearches)} per 1,000 rerank calls`] as const]
            : []),
          ...(model.batchDiscount === '1'
            ? []
            : [['Batches and flex calls', `${model.batchDiscount} of these prices`] as const]),
          ...(model.engine ? [['Weights', <Code key="weights">{model.engine.weights}</Code>] as const] : []),
          ...model.upstreams.map(
            (upstream, index) =>
              [
                `Server ${index + 1}`,
                `${upstream.url}, model ${upstream.model}${upstream.hasKey ? ', with a key' : ''}`,
              ] as const,
          ),
          ...(model.modality === 'chat'
            ? [
                [
                  'Streams of a server that fails',
                  model.failover ? 'continue on another server' : 'end with an error',
                ] as const,
              ]
            : []),
        ]}
      />
    </Panel>
  )
}

const healthOf = displayIn({
  up: { tone: 'ok', label: 'Up' },
  down: { tone: 'bad', label: 'Down' },
  unknown: { tone: 'busy', label: 'Not checked yet' },
})

const COLUMNS: Column<OperatorModel['replicas'][number]>[] = [
  { id: 'name', header: 'Server', cell: ({ name }) => <Code>{name}</Code> },
  {
    id: 'health',
    header: 'Health',
    cell: ({ health }) => <StateBadge state={healthOf(health)} />,
  },
  { id: 'calls', header: 'Calls now', align: 'right', cell: ({ inFlight }) => inFlight },
]

/** The servers as the responding node sees them, and what refers to the model. */
export function ModelState({ model }: { model: OperatorModel }) {
  return (
    <Panel title="State" description="As the node that responded sees it">
      <Stack gap="md">
        {model.replicas.length === 0 ? (
          <Text c="dimmed">No server of this model is running.</Text>
        ) : (
          <DataTable
            caption="Servers of the model"
            columns={COLUMNS}
            rows={model.replicas}
            rowKey={({ name }) => name}
            minWidth={320}
          />
        )}
        <Facts
          rows={[
            ['Served by', servedBy(model)],
            ['Defined in', SOURCE_LABELS[model.source] ?? model.source],
            ['Used by', usesOf(model.usedBy) ?? 'no alias and no endpoint; clients may still call it'],
          ]}
        />
        <Command model={model} />
      </Stack>
    </Panel>
  )
}
