import { Anchor, Group, Stack, Text } from '@mantine/core'
import type { Library, Model } from '../../api/models'
import { paths } from '../../paths'
import { CopyButton } from '../../ui/CopyButton'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatCount, formatPrice } from '../../ui/format'
import { Link } from '../../ui/Link'
import { modalityLabel } from '../../ui/modality'
import { SORT_BY } from './filter-models'
import { ModelAliases } from './ModelAliases'
import { ModelStatus } from './ModelStatus'

const columns = ({ models, aliases }: Library): Column<Model>[] => [
  {
    id: 'name',
    header: 'Model',
    sortBy: SORT_BY.name,
    cell: (model) => (
      <Stack gap={0}>
        <Anchor component={Link} href={paths.model(model.id)} fw={550}>
          {model.name}
        </Anchor>
        <Group gap={4} wrap="nowrap">
          <Text component="code" size="sm" c="dimmed" ff="monospace">
            {model.id}
          </Text>
          <CopyButton value={model.id} label="Copy Model ID" />
        </Group>
        <ModelAliases aliases={aliases.get(model.id)} />
      </Stack>
    ),
  },
  { id: 'provider', header: 'Provider', sortBy: SORT_BY.provider, cell: (model) => model.provider },
  { id: 'modality', header: 'Modality', cell: (model) => modalityLabel(model.modality) },
  { id: 'status', header: 'Status', sortBy: SORT_BY.status, cell: (model) => <ModelStatus status={model.status} /> },
  {
    id: 'input',
    header: 'Input / 1M',
    align: 'right',
    sortBy: SORT_BY.input,
    cell: (model) => formatPrice(model.pricing.input_per_1m),
  },
  {
    id: 'cached',
    header: 'Cached input / 1M',
    align: 'right',
    cell: (model) => formatPrice(model.pricing.cached_input_per_1m),
  },
  {
    id: 'output',
    header: 'Output / 1M',
    align: 'right',
    sortBy: SORT_BY.output,
    cell: (model) => (model.modality !== 'chat' ? '–' : formatPrice(model.pricing.output_per_1m)),
  },
  ...(models.some((model) => model.pricing.per_1k_searches) ? [SEARCHES] : []),
  {
    id: 'context',
    header: 'Context',
    align: 'right',
    sortBy: SORT_BY.context,
    cell: (model) => formatCount(model.context_length),
  },
]

/** Only where a model has such a price. */
const SEARCHES: Column<Model> = {
  id: 'searches',
  header: 'Rerank calls / 1K',
  align: 'right',
  cell: ({ pricing }) => (pricing.per_1k_searches ? formatPrice(pricing.per_1k_searches) : '–'),
}

type Props = Library & { sort: string; onSort: (sort: string) => void }

export function ModelTable({ models, aliases, sort, onSort }: Props) {
  return (
    <DataTable
      caption="Models"
      columns={columns({ models, aliases })}
      rows={models}
      rowKey={(model) => model.id}
      sort={sort}
      onSort={onSort}
    />
  )
}
