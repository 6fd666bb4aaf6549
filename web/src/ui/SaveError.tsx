import { Button } from '@mantine/core'
import { conflictingRecord } from '../api/errors'
import { ErrorPanel } from './ErrorPanel'

type Props<T> = { error: unknown; title: string; onLoad: (current: T) => void }

/** Why a record could not be saved. After a version conflict, the current one can be loaded. */
export function SaveError<T>({ error, title, onLoad }: Props<T>) {
  const current = conflictingRecord<T>(error)
  return (
    <ErrorPanel error={error} title={title}>
      {current ? (
        <Button variant="default" size="xs" w="fit-content" onClick={() => onLoad(current)}>
          Load the current version
        </Button>
      ) : null}
    </ErrorPanel>
  )
}
