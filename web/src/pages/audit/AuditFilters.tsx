import { Autocomplete, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { membersQuery } from '../../api/members'
import { useOrganization, usePlace } from '../../api/session'
import { FieldPrefix } from '../../ui/FieldPrefix'
import { FilterSelect } from '../../ui/FilterSelect'
import { SearchField } from '../../ui/SearchField'
import classes from './Audit.module.css'
import { ACTIONS, type Chosen } from './entries'

type Props = { chosen: Chosen; change: (wish: Partial<Chosen>) => void }

const MACHINES = ['forebay admin', 'first start']

export function AuditFilters({ chosen, change }: Props) {
  const { isOperator } = usePlace()
  const search = useCallback((subject: string) => change({ subject }), [change])
  return (
    <search className={classes.filters} aria-label="Audit log">
      <ActorChoice chosen={chosen} change={change} />
      <Autocomplete
        aria-label="Action"
        placeholder="Any action"
        data={ACTIONS}
        limit={ACTIONS.length}
        clearable
        value={chosen.action}
        onChange={(action) => change({ action })}
      />
      <SearchField label="Subject" placeholder="Id of the subject" value={chosen.subject} onChange={search} />
      <TextInput
        type="date"
        aria-label="From, UTC"
        title="From this day on, UTC"
        leftSection={<FieldPrefix>From</FieldPrefix>}
        leftSectionWidth={52}
        value={chosen.from}
        max={chosen.to || undefined}
        onChange={(event) => change({ from: event.currentTarget.value })}
      />
      <TextInput
        type="date"
        aria-label="To, UTC"
        title="To this day, UTC"
        leftSection={<FieldPrefix>To</FieldPrefix>}
        leftSectionWidth={36}
        value={chosen.to}
        min={chosen.from || undefined}
        onChange={(event) => change({ to: event.currentTarget.value })}
      />
      {isOperator ? (
        <Select
          aria-label="Where"
          data={[
            { value: 'organization', label: 'This organization' },
            { value: 'platform', label: 'Whole platform' },
          ]}
          value={chosen.scope}
          allowDeselect={false}
          onChange={(scope) => change({ scope: scope === 'platform' ? scope : 'organization' })}
        />
      ) : null}
    </search>
  )
}

/** People by address; the log knows them by id, which a link may name also when they have left. */
function ActorChoice({ chosen, change }: Props) {
  const organization = useOrganization()
  const members = useQuery(membersQuery(organization.id))
  const people = (members.data ?? []).map(({ userId, email }) => ({ value: userId, label: email }))
  const known = [...people, ...MACHINES.map((value) => ({ value, label: value }))]
  const isKnown = !chosen.actor || known.some(({ value }) => value === chosen.actor)
  return (
    <FilterSelect
      label="Actor"
      placeholder="Anybody"
      searchable
      data={isKnown ? known : [...known, { value: chosen.actor, label: chosen.actor }]}
      value={chosen.actor}
      onChange={(actor) => change({ actor })}
    />
  )
}
