import { Anchor, Button, Stack, Text } from '@mantine/core'
import { IconPlus, IconStack2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { catalogueQuery, modelTableQuery, type OperatorModel, POLL_MS } from '../../../api/operator/catalogue'
import { useTable } from '../../../api/pages'
import { polled } from '../../../api/polling'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { paths } from '../../../paths'
import { type Column, DataTable } from '../../../ui/DataTable'
import { EmptyState } from '../../../ui/EmptyState'
import { oneOf, text } from '../../../ui/filters'
import { formatPrice } from '../../../ui/format'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { SearchField } from '../../../ui/SearchField'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StatusBadge } from '../../../ui/StatusBadge'
import { Toolbar } from '../../../ui/Toolbar'
import { useFilters } from '../../../ui/useFilters'
import { statusOf } from '../../models/status'
import classes from '../Operator.module.css'
import { Aliases } from './Aliases'
import { SOURCE_LABELS, servedBy } from './source'

const SORTS = ['', 'name', '-name', 'status', '-status', 'source', '-source'] as const
const FILTERS = { q: text(), sort: oneOf(SORTS) }

export function OperatorModelsPage() {
  return (
    <OperatorsOnly title="Models">
      <Models />
    </OperatorsOnly>
  )
}

function Models() {
  const [{ q, sort }, change] = useFilters(FILTERS)
  const models = useTable(modelTableQuery({ search: q, sort }), polled(POLL_MS))
  const search = useCallback((typed: string) => change({ q: typed }), [change])
  const catalogue = useQuery(catalogueQuery)
  const add = catalogue.data?.writable ? <AddButton /> : null
  return (
    <>
      <PageHeader
        title="Models"
        description={
          catalogue.data?.writable === false
            ? 'All models of this installation. The catalogue is read from the configuration file only'
            : 'All models of this installation. Those of the configuration file are changed there'
        }
        actions={add}
      />
      <Loaded query={models} skeleton={<TableSkeleton />} errorTitle="The models could not be loaded">
        {(table) =>
          table.rows.length === 0 && !q ? (
            <EmptyState title="No models yet" icon={<IconStack2 size={32} />} actions={add}>
              Connect a server that speaks OpenAI’s API, or run a model on this machine.
            </EmptyState>
          ) : (
            <div className={classes.stack}>
              <div>
                <Toolbar>
                  <SearchField label="Search models" placeholder="Name or Model ID" value={q} onChange={search} />
                </Toolbar>
                {table.rows.length === 0 ? (
                  <EmptyState title="No model matches" icon={<IconStack2 size={32} />}>
                    Try a part of its name or Model ID.
                  </EmptyState>
                ) : (
                  <DataTable
                    caption="Models"
                    columns={COLUMNS}
                    rows={table}
                    rowKey={(model) => model.id}
                    sort={sort}
                    onSort={(next) => change({ sort: SORTS.find((one) => one === next) ?? SORTS[0] })}
                    minWidth={900}
                  />
                )}
              </div>
              <Aliases isWritable={catalogue.data?.writable ?? false} />
            </div>
          )
        }
      </Loaded>
    </>
  )
}

const AddButton = () => (
  <Button component={Link} href={paths.addModel()} leftSection={<IconPlus size={16} />}>
    Add model
  </Button>
)

const COLUMNS: Column<OperatorModel>[] = [
  {
    id: 'name',
    header: 'Model',
    sortBy: 'server',
    cell: (model) => (
      <Stack gap={0}>
        <Anchor component={Link} href={paths.operatorModel(model.id)} fw={550}>
          {model.name}
        </Anchor>
        <Text component="code" size="sm" c="dimmed" ff="monospace">
          {model.id}
        </Text>
      </Stack>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    sortBy: 'server',
    cell: (model) => {
      const { tone, label } = statusOf(model.status)
      return (
        <StatusBadge tone={tone} title={model.problem ?? undefined}>
          {label}
        </StatusBadge>
      )
    },
  },
  {
    id: 'source',
    header: 'Defined in',
    sortBy: 'server',
    cell: (model) => SOURCE_LABELS[model.source] ?? model.source,
  },
  { id: 'served', header: 'Served by', cell: servedBy },
  {
    id: 'load',
    header: 'Calls now',
    align: 'right',
    cell: (model) => model.replicas.reduce((sum, replica) => sum + replica.inFlight, 0),
  },
  { id: 'input', header: 'Input / 1M', align: 'right', cell: (model) => formatPrice(model.inputPer1m) },
  {
    id: 'output',
    header: 'Output / 1M',
    align: 'right',
    cell: (model) => (model.modality !== 'chat' ? '–' : formatPrice(model.outputPer1m)),
  },
]
