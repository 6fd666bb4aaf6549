import { Button, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { ErrorPanel } from '../ui/ErrorPanel'

type Mutation = { mutate: (name: string) => void; isPending: boolean; error: unknown }

/** Form for creating something that only needs a name. */
export function NameForm({ label, action, mutation }: { label: string; action: string; mutation: Mutation }) {
  const [name, setName] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    mutation.mutate(name.trim())
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" ta="start" miw={280}>
        <TextInput label={label} required value={name} onChange={(event) => setName(event.currentTarget.value)} />
        {mutation.error ? <ErrorPanel error={mutation.error} /> : null}
        <Button type="submit" loading={mutation.isPending} disabled={!name.trim()}>
          {action}
        </Button>
      </Stack>
    </form>
  )
}
