import { Anchor, Group, SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import {
  type Consumer,
  type ConsumerKind,
  type ConsumerOrder,
  consumersQuery,
} from '../../../api/operator/installation'
import { paths } from '../../../paths'
import { type Column, DataTable } from '../../../ui/DataTable'
import { oneOf } from '../../../ui/filters'
import { formatCompact, formatCount, formatMoney } from '../../../ui/format'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Operator.module.css'

const DAY_MS = 86_400_000
const KINDS = [
  { value: 'organization', label: 'Organizations' },
  { value: 'model', label: 'Models' },
  { value: 'endpoint', label: 'Endpoints' },
  { value: 'key', label: 'Keys' },
] as const
const ORDERS = [
  { value: 'tokens', label: 'By tokens' },
  { value: 'cost', label: 'By cost' },
] as const
export const FILTERS = {
  top: oneOf(KINDS.map(({ value }) => value) as [ConsumerKind, ...ConsumerKind[]]),
  sort: oneOf(ORDERS.map(({ value }) => value) as [ConsumerOrder, ...ConsumerOrder[]]),
}

/** Who used the most in the last day. */
export function Consumers() {
  const [{ top, sort }, change] = useFilters(FILTERS)
  const consumers = useQuery(consumersQuery(top, sort, DAY_MS))
  return (
    <Panel
      title="Largest users"
      description="In the last 24 hours, over all workspaces"
      actions={
        <Group gap="xs">
          <SegmentedControl
            aria-label="Users"
            className={classes.ways}
            data={[...KINDS]}
            value={top}
            onChange={(value) => change({ top: value as ConsumerKind })}
          />
          <SegmentedControl
            aria-label="Order"
            data={[...ORDERS]}
            value={sort}
            onChange={(value) => change({ sort: value as ConsumerOrder })}
          />
        </Group>
      }
    >
      <Loaded query={consumers} skeleton={<TableSkeleton rows={3} />} errorTitle="The usage could not be loaded">
        {(lines) =>
          lines.length === 0 ? (
            <p className={classes.none}>No usage in the last 24 hours</p>
          ) : (
            <DataTable
              caption={`Largest users: ${KINDS.find(({ value }) => value === top)?.label}`}
              columns={columnsOf(top)}
              rows={lines}
              rowKey={(line) => `${line.organization?.id} ${line.workspace?.id} ${line.key} ${line.name}`}
              minWidth={560}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

/** Endpoints and keys have names within a workspace of an organization. */
function columnsOf(kind: ConsumerKind): Column<Consumer>[] {
  const owner: Column<Consumer> = {
    id: 'owner',
    header: 'Workspace',
    cell: ({ organization, workspace }) => (organization ? `${organization.name} / ${workspace?.name ?? ''}` : ''),
  }
  const column = (id: string, header: string, cell: (line: Consumer) => string): Column<Consumer> => ({
    id,
    header,
    align: 'right',
    cell,
  })
  return [
    { id: 'name', header: 'Name', cell: (line) => <Name kind={kind} line={line} /> },
    ...(kind === 'endpoint' || kind === 'key' ? [owner] : []),
    column('calls', 'Calls', (line) => formatCount(line.requests)),
    column('in', 'Tokens in', (line) => formatCompact(line.promptTokens)),
    column('out', 'Tokens out', (line) => formatCompact(line.completionTokens)),
    column('cost', 'Cost', (line) => formatMoney(line.costUsd)),
  ]
}

function Name({ kind, line }: { kind: ConsumerKind; line: Consumer }) {
  const href =
    kind === 'model'
      ? paths.operatorModel(line.name)
      : line.organization && paths.operatorOrganization(line.organization.id)
  if (!href) return line.name
  return (
    <Anchor component={Link} href={href} inherit>
      {line.name}
    </Anchor>
  )
}
