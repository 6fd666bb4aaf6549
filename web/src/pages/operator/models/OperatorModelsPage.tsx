import { Anchor, Button, Stack, Text } from '@mantine/core'
import { IconPlus, IconStack2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { catalogueQuery, type OperatorModel, operatorModelsQuery } from '../../../api/operator/catalogue'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { paths } from '../../../paths'
import { type Column, DataTable } from '../../../ui/DataTable'
import { EmptyState } from '../../../ui/EmptyState'
import { formatPrice } from '../../../ui/format'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StatusBadge } from '../../../ui/StatusBadge'
import classes from '../Operator.module.css'
import { Aliases } from './Aliases'
import { SOURCE_LABELS, servedBy, statusOf } from './source'

export function OperatorModelsPage() {
  return (
    <OperatorsOnly title="Models">
      <Models />
    </OperatorsOnly>
  )
}

function Models() {
  const models = useQuery(operatorModelsQuery)
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
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No models yet" icon={<IconStack2 size={32} />} actions={add}>
              Connect a server that speaks OpenAI’s API, or run a model on this machine.
            </EmptyState>
          ) : (
            <div className={classes.stack}>
              <DataTable
                caption="Models"
                columns={COLUMNS}
                rows={all}
                rowKey={(model) => model.id}
                minWidth={900}
                find={{ label: 'Find models', text: ({ id, name }) => `${id} ${name}` }}
              />
              <Aliases models={all} isWritable={catalogue.data?.writable ?? false} />
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
    id: 'model',
    header: 'Model',
    sortBy: ({ name }) => name.toLowerCase(),
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
    sortBy: ({ status }) => status,
    cell: (model) => {
      const { tone, label } = statusOf(model.status)
      return (
        <StatusBadge tone={tone} title={model.problem ?? undefined}>
          {label}
        </StatusBadge>
      )
    },
  },
  { id: 'source', header: 'Defined in', cell: (model) => SOURCE_LABELS[model.source] ?? model.source },
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
    cell: (model) => (model.modality === 'embedding' ? '–' : formatPrice(model.outputPer1m)),
  },
]
