import { Autocomplete, Button, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type Alias, refreshAliases, setAlias } from '../../../api/aliases'
import { endpointsQuery } from '../../../api/endpoints'
import { useApiForm } from '../../../api/form'
import { modelsQuery } from '../../../api/models'
import { ErrorPanel } from '../../../ui/ErrorPanel'

type Props = { workspaceId: string; existing: readonly Alias[] }

const EMPTY: Alias = { name: '', model: '' }
const trimmed = ({ name, model }: Alias): Alias => ({ name: name.trim(), model: model.trim() })

/** Creates an alias, or changes the model of an existing one. */
export function AliasForm({ workspaceId, existing }: Props) {
  const queries = useQueryClient()
  const replacedBy = (alias: Alias) => existing.find((one) => one.name === trimmed(alias).name)
  const { form, sending, submit, error } = useApiForm({
    initialValues: EMPTY,
    resetsOnEdit: true,
    send: (alias) => setAlias(workspaceId, trimmed(alias), replacedBy(alias)?.model ?? null),
    onSuccess: (saved) => {
      form.reset()
      notifications.show({ title: 'Alias saved', message: `${saved.name} now means ${saved.model}.` })
    },
    onSettled: () => refreshAliases(queries, workspaceId),
  })
  const alias = trimmed(form.values)
  const replaced = replacedBy(alias)
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
            description={
              replaced ? `Exists and means ${replaced.model}; saving changes it` : 'The name that clients send'
            }
            {...form.getInputProps('name')}
          />
          <Autocomplete
            label="Model"
            placeholder="acme/tiny-chat or dedicated/mine"
            required
            data={useTargets(workspaceId)}
            description="A Model ID, or dedicated/ and an endpoint’s name"
            {...form.getInputProps('model')}
          />
        </SimpleGrid>
        {error ? <ErrorPanel error={error} title="Could not save the alias" /> : null}
        <Button type="submit" w="fit-content" loading={sending.isPending} disabled={!alias.name || !alias.model}>
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
