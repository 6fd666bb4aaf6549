import { Modal, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type KeyboardEvent, useId, useState } from 'react'
import { foundEndpointsQuery } from '../api/endpoints'
import { foundKeysQuery } from '../api/keys'
import { modelsQuery } from '../api/models'
import { foundOrganizationsQuery } from '../api/operator/organizations'
import { useSessionContext } from '../api/session'
import { foundPlaces, placesOf } from './places'
import classes from './Shell.module.css'

const DEBOUNCE_MS = 150
const MAX_SEARCH = 100

/** Goes to any page, model, endpoint, key, organization or request by its name. */
export default function Palette({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Go to" size="lg" yOffset="12vh">
      <Search onClose={onClose} />
    </Modal>
  )
}

/** A separate component, so that a reopened palette starts empty. */
function Search({ onClose }: { onClose: () => void }) {
  const router = useRouter()
  const listId = useId()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const places = foundPlaces(placesOf(useKnown(typed.trim())), typed)
  const active = places[Math.min(chosen, places.length - 1)]
  const go = (href: string) => {
    onClose()
    router.history.push(href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, places.length - 1))
    else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0))
    else if (event.key === 'Enter' && active) go(active.href)
    else return
    event.preventDefault()
  }
  const optionId = (id: string) => `${listId} ${id}`.replaceAll(/[^\w-]/g, '-')
  return (
    <>
      <TextInput
        data-autofocus
        role="combobox"
        aria-label="Search pages, models, endpoints, keys and request ids"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={active && optionId(active.id)}
        autoComplete="off"
        placeholder="Page, model, endpoint, key or request id"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={listId} aria-label="Results" className={classes.places}>
        {places.map((place) => (
          <div
            key={place.id}
            id={optionId(place.id)}
            role="option"
            tabIndex={-1}
            aria-selected={place === active}
            className={classes.place}
            onClick={() => go(place.href)}
            onKeyDown={onKeyDown}
          >
            <span>{place.label}</span>
            <Text span size="xs" c="dimmed">
              {place.kind}
            </Text>
          </div>
        ))}
      </div>
      {places.length === 0 ? <Text c="dimmed">Nothing found</Text> : null}
    </>
  )
}

/** What is known to the console, or is found while the palette is open. */
function useKnown(typed: string) {
  const text = typed.slice(0, MAX_SEARCH)
  const [searched] = useDebouncedValue(text, DEBOUNCE_MS)
  const { workspace, isOperator } = useSessionContext()
  const id = workspace?.id ?? ''
  const inWorkspace = { enabled: !!workspace }
  const models = useQuery({ ...modelsQuery(id), ...inWorkspace })
  const endpoints = useQuery({ ...foundEndpointsQuery(id, searched), ...inWorkspace })
  const keys = useQuery({ ...foundKeysQuery(id, searched), ...inWorkspace })
  const organizations = useQuery({ ...foundOrganizationsQuery(searched), enabled: isOperator })
  return {
    isOperator,
    models: models.data,
    endpoints: endpoints.data,
    keys: keys.data,
    organizations: organizations.data,
    // Until the server responds, these are what it found for an earlier text.
    areFound: searched === text && ![endpoints, keys, organizations].some((found) => found.isPlaceholderData),
  }
}
