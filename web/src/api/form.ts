/** Forms that send their values to the API. */

import { type GetInputPropsReturnType, type UseFormReturnType, useForm } from '@mantine/form'
import { type UseMutationOptions, useMutation } from '@tanstack/react-query'
import { fieldPath } from './errors'

type Options<Values, Saved> = Pick<UseMutationOptions<Saved, Error, Values>, 'onSuccess' | 'onSettled'> & {
  initialValues: Values
  send: (values: Values) => Promise<Saved>
  /** Whether the outcome is dropped when a value changes. */
  resetsOnEdit?: boolean
  /** The field that shows an error, unless it has the name that the API uses. */
  pathOf?: (error: Error) => string | undefined
}

/** `error` is the last one, unless a field shows it. */
export function useApiForm<Values extends object, Saved>(options: Options<Values, Saved>) {
  const { initialValues, send, resetsOnEdit, pathOf = fieldPath, onSuccess, onSettled } = options
  const form = useForm<Values>({ initialValues, onValuesChange: () => resetsOnEdit && sending.reset() })
  const fieldOf = (error: Error | null) => {
    const path = error ? pathOf(error) : undefined
    return path && hasField(form.getValues(), path) ? path : undefined
  }
  const sending = useMutation({
    mutationFn: send,
    onError: (error) => {
      const field = fieldOf(error)
      if (field) form.setFieldError(field, error.message)
    },
    onSuccess,
    onSettled,
  })
  return {
    form,
    sending,
    submit: form.onSubmit((values) => sending.mutate(values)),
    error: fieldOf(sending.error) ? null : sending.error,
  }
}

/** The fields under a path of a form. */
export type FormPart<Fields> = {
  fields: Fields
  input: (name: keyof Fields & string) => GetInputPropsReturnType
  checkbox: (name: keyof Fields & string) => GetInputPropsReturnType
  change: (change: Partial<Fields>) => void
}

/** `path` is empty for the fields of the form itself. */
export function partOf<Fields extends object>(
  // biome-ignore lint/suspicious/noExplicitAny: the types of nested paths are not known here.
  form: UseFormReturnType<any>,
  path: string,
): FormPart<Fields> {
  const nameOf = (name: string) => (path ? `${path}.${name}` : name)
  return {
    fields: valueAt(form.values, path) as Fields,
    input: (name) => form.getInputProps(nameOf(name)),
    checkbox: (name) => form.getInputProps(nameOf(name), { type: 'checkbox' }),
    change: (change) => {
      for (const [name, value] of Object.entries(change)) form.setFieldValue(nameOf(name), value)
    },
  }
}

const partsOf = (path: string) => path.split('.').filter(Boolean)

const valueAt = (values: object, path: string): unknown =>
  partsOf(path).reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], values)

/** Also if the field has no value. */
function hasField(values: object, path: string): boolean {
  const parts = partsOf(path)
  const holder = valueAt(values, parts.slice(0, -1).join('.'))
  return typeof holder === 'object' && holder !== null && (parts.at(-1) ?? '') in holder
}
