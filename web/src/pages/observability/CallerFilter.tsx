import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Caller, CallerNameOf } from '../../api/callers'
import { foundKeysQuery } from '../../api/keys'
import { FilterSelect } from '../../ui/FilterSelect'

const DEBOUNCE_MS = 150
const MAX_SEARCH = 100

type Props = {
  workspaceId: string
  callers: readonly Caller[] | undefined
  nameOf: CallerNameOf
  value: string
  onChange: (id: string) => void
}

/** Filter by key or member. The server finds keys that are not among the callers. */
export function CallerFilter({ workspaceId, callers = [], nameOf, value, onChange }: Props) {
  const [typed, setTyped] = useState('')
  const [searched] = useDebouncedValue(typed.trim().slice(0, MAX_SEARCH), DEBOUNCE_MS)
  const { data: found = [] } = useQuery({ ...foundKeysQuery(workspaceId, searched), enabled: searched !== '' })
  const names = new Map([...callers, ...found].map(({ id, name }) => [id, name]))
  if (value && !names.has(value)) names.set(value, nameOf(value))
  return (
    <FilterSelect
      label="Caller"
      placeholder="All keys and members"
      searchable
      onSearchChange={setTyped}
      data={[...names].map(([id, name]) => ({ value: id, label: name }))}
      value={value}
      onChange={onChange}
    />
  )
}
