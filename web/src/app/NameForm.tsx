import { Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { ErrorPanel } from '../ui/ErrorPanel'

type Mutation = { mutate: (name: string) => void; isPending: boolean; error: unknown }

/** Form for creating something that only needs a name. */
export function NameForm({ label, action, mutation }: { label: string; action: string; mutation: Mutation }) {
  const form = useForm({ initialValues: { name: '' } })
  return (
    <form onSubmit={form.onSubmit(({ name }) => mutation.mutate(name.trim()))}>
      <Stack gap="sm" ta="start" miw={280}>
        <TextInput label={label} required {...form.getInputProps('name')} />
        {mutation.error ? <ErrorPanel error={mutation.error} /> : null}
        <Button type="submit" loading={mutation.isPending} disabled={!form.values.name.trim()}>
          {action}
        </Button>
      </Stack>
    </form>
  )
}
