import { Container, Title } from '@mantine/core'
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { ErrorPanel } from '../ui/ErrorPanel'
import { PageHeader } from '../ui/PageHeader'

const TITLE = 'This page cannot be shown'

function useRetry(reset: () => void) {
  const router = useRouter()
  return () => {
    reset()
    void router.invalidate()
  }
}

/** Shown when a page inside the shell fails to load or render: the navigation stays. */
export function PageError({ error, reset }: ErrorComponentProps) {
  return (
    <>
      <PageHeader title={TITLE} />
      <ErrorPanel error={error} onRetry={useRetry(reset)} />
    </>
  )
}

/** Shown when a page outside the shell, or the shell itself, fails. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  return (
    <Container component="main" size="sm" py="xl">
      <Title order={1} mb="md">
        {TITLE}
      </Title>
      <ErrorPanel error={error} onRetry={useRetry(reset)} />
    </Container>
  )
}
