import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { foundEndUsersQuery } from '../../api/end-users'
import { endUserName } from '../../ui/end-users'
import { FilterSelect } from '../../ui/FilterSelect'

const DEBOUNCE_MS = 150
const MAX_SEARCH = 100

type Props = { workspaceId: string; value: string; onChange: (id: string) => void }

/** Filter by the person behind a key; nothing if no call has named one. */
export function EndUserFilter({ workspaceId, value, onChange }: Props) {
  const [typed, setTyped] = useState('')
  const [searched] = useDebouncedValue(typed.trim().slice(0, MAX_SEARCH), DEBOUNCE_MS)
  const found = useQuery(foundEndUsersQuery(workspaceId, searched))
  const names = new Map((found.data ?? []).map(({ id, name }) => [id, endUserName(id, name)]))
  if (value && !names.has(value)) names.set(value, endUserName(value, null))
  if (names.size === 0 && !searched) return null
  return (
    <FilterSelect
      label="End user"
      placeholder="Any end user"
      searchable
      onSearchChange={setTyped}
      data={[...names].map(([id, name]) => ({ value: id, label: name }))}
      value={value}
      onChange={onChange}
    />
  )
}
