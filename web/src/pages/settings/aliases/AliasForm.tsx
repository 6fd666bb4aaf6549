import { Autocomplete, Button, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type Alias, refreshAliases, setAlias } from '../../../api/aliases'
import { endpointsQuery } from '../../../api/endpoints'
import { ApiError } from '../../../api/errors'
import { modelsQuery } from '../../../api/models'
import { ErrorPanel } from '../../../ui/ErrorPanel'

type Props = { workspaceId: string; existing: readonly Alias[] }

const EMPTY: Alias = { name: '', model: '' }

/** Creates an alias, or changes the model of an existing one. */
export function AliasForm({ workspaceId, existing }: Props) {
  const queries = useQueryClient()
  const [fields, setFields] = useState(EMPTY)
  const alias = { name: fields.name.trim(), model: fields.model.trim() }
  const replaced = existing.find((one) => one.name === alias.name)
  const save = useMutation({
    mutationFn: () => setAlias(workspaceId, alias),
    onSuccess: (saved) => {
      setFields(EMPTY)
      notifications.show({ title: 'Alias saved', message: `${saved.name} now means ${saved.model}.` })
    },
    onSettled: () => refreshAliases(queries, workspaceId),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  const edit = (change: Partial<Alias>) => {
    if (save.error) save.reset()
    setFields({ ...fields, ...change })
  }
  const field = save.error instanceof ApiError ? save.error.field : undefined
  const errorOf = (name: keyof Alias) => (field === name ? save.error?.message : undefined)
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" maw={840}>
          <TextInput
            label="Name"
            placeholder="claude-forebay"
            required
            autoComplete="off"
            spellCheck={false}
            value={fields.name}
            error={errorOf('name')}
            description={
              replaced ? `Exists and means ${replaced.model}; saving changes it` : 'The name that clients send'
            }
            onChange={(event) => edit({ name: event.currentTarget.value })}
          />
          <Autocomplete
            label="Model"
            placeholder="acme/tiny-chat or dedicated/mine"
            required
            data={useTargets(workspaceId)}
            value={fields.model}
            error={errorOf('model')}
            description="A Model ID, or dedicated/ and an endpoint’s name"
            onChange={(model) => edit({ model })}
          />
        </SimpleGrid>
        {save.error && !(field === 'name' || field === 'model') ? (
          <ErrorPanel error={save.error} title="Could not save the alias" />
        ) : null}
        <Button type="submit" w="fit-content" loading={save.isPending} disabled={!alias.name || !alias.model}>
          {replaced ? 'Change alias' : 'Save alias'}
        </Button>
      </Stack>
    </form>
  )
}

/** Models and endpoints to choose from. Others may be typed: an endpoint need not exist yet. */
function useTargets(workspaceId: string): string[] {
  const models = useQuery(modelsQuery(workspaceId))
  const endpoints = useQuery(endpointsQuery(workspaceId))
  return [
    ...(models.data ?? []).map((model) => model.id),
    ...(endpoints.data ?? []).map((endpoint) => `dedicated/${endpoint.name}`),
  ]
}
