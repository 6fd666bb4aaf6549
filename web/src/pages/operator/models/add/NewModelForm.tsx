import { Button, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { createModel, type NewModel, refreshModels } from '../../../../api/operator/catalogue'
import { paths } from '../../../../paths'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { Panel } from '../../../../ui/Panel'
import { DETAIL_NAMES, DetailsFields } from '../DetailsFields'
import { type FieldErrors, fieldErrors } from '../errors'
import { type DetailFields, EMPTY_DETAILS, toDetails } from '../fields'

type Props = {
  title: string
  initial: Partial<DetailFields> & { id: string }
  /** The part of the request that says how the model is served. */
  serving: () => Partial<NewModel>
  /** Fields of `children`, whose errors they show. */
  servingNames: readonly string[]
  /** What happens next, for the notification. */
  added?: string
  children: (errors: FieldErrors) => ReactNode
}

/** The last step: id, name, prices and limits of the new model. */
export function NewModelForm({ title, initial, serving, servingNames, added, children }: Props) {
  const queries = useQueryClient()
  const router = useRouter()
  const { id: suggested, ...details } = initial
  const [id, setId] = useState(suggested)
  const [fields, setFields] = useState<DetailFields>({ ...EMPTY_DETAILS, ...details })
  const create = useMutation({
    mutationFn: () => createModel({ id: id.trim(), ...toDetails(fields), ...serving() }),
    onSuccess: (model) => {
      const message = added ?? `${model.id} can be called now. Send it a test call.`
      notifications.show({ title: 'Model added', message })
      void refreshModels(queries)
      router.history.push(paths.operatorModel(model.id))
    },
  })
  const errors = fieldErrors(create.error, ['id', ...DETAIL_NAMES, ...servingNames])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <form onSubmit={submit} noValidate>
      <Panel title={title}>
        <Stack gap="md">
          <TextInput
            label="Model ID"
            description="The name that clients send: a provider, a slash and a name"
            placeholder="acme/tiny-chat"
            required
            maw={520}
            autoComplete="off"
            spellCheck={false}
            value={id}
            error={errors.of('id')}
            onChange={(event) => setId(event.currentTarget.value)}
          />
          {children(errors)}
          <DetailsFields fields={fields} errors={errors} onChange={(change) => setFields({ ...fields, ...change })} />
          {errors.rest ? <ErrorPanel error={errors.rest} title="Could not add the model" /> : null}
          <Button type="submit" w="fit-content" loading={create.isPending} disabled={!id.trim()}>
            Add model
          </Button>
        </Stack>
      </Panel>
    </form>
  )
}
