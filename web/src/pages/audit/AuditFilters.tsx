import { Autocomplete, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { membersQuery } from '../../api/members'
import { useOrganization, useSessionContext } from '../../api/session'
import { FilterSelect } from '../../ui/FilterSelect'
import { SearchField } from '../../ui/SearchField'
import { TimeField } from '../../ui/TimeField'
import classes from './Audit.module.css'
import { ACTIONS, type AuditFilterValues } from './entries'

type Props = { filters: AuditFilterValues; change: (changed: Partial<AuditFilterValues>) => void }

const SYSTEM_ACTORS = ['forebay admin', 'first start']

export function AuditFilters({ filters, change }: Props) {
  const { isOperator } = useSessionContext()
  const search = useCallback((subject: string) => change({ subject }), [change])
  return (
    <search className={classes.filters} aria-label="Audit log">
      <ActorFilter filters={filters} change={change} />
      <Autocomplete
        aria-label="Action"
        placeholder="Any action"
        data={ACTIONS}
        limit={ACTIONS.length}
        clearable
        value={filters.action}
        onChange={(action) => change({ action })}
      />
      <SearchField label="Subject" placeholder="Subject ID" value={filters.subject} onChange={search} />
      <TimeField
        kind="day"
        label="From, UTC"
        prefix="From"
        title="From this day (UTC)"
        value={filters.from}
        onChange={(from) => change({ from })}
      />
      <TimeField
        kind="day"
        label="To, UTC"
        prefix="To"
        title="Up to and including this day (UTC)"
        value={filters.to}
        error={filters.from && filters.to && filters.to < filters.from ? 'Must not be before From' : undefined}
        onChange={(to) => change({ to })}
      />
      {isOperator ? (
        <Select
          aria-label="Scope"
          data={[
            { value: 'organization', label: 'This organization' },
            { value: 'platform', label: 'Whole platform' },
          ]}
          value={filters.scope}
          allowDeselect={false}
          onChange={(scope) => change({ scope: scope === 'platform' ? scope : 'organization' })}
        />
      ) : null}
    </search>
  )
}

/** Lists members by email. The log stores ids, and a link may name someone who has left. */
function ActorFilter({ filters, change }: Props) {
  const organization = useOrganization()
  const members = useQuery(membersQuery(organization.id))
  const people = (members.data ?? []).map(({ userId, email }) => ({ value: userId, label: email }))
  const known = [...people, ...SYSTEM_ACTORS.map((value) => ({ value, label: value }))]
  const isKnown = !filters.actor || known.some(({ value }) => value === filters.actor)
  return (
    <FilterSelect
      label="Actor"
      placeholder="Any actor"
      searchable
      data={isKnown ? known : [...known, { value: filters.actor, label: filters.actor }]}
      value={filters.actor}
      onChange={(actor) => change({ actor })}
    />
  )
}
