import { Container, Title } from '@mantine/core'
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { ErrorPanel } from '../ui/ErrorPanel'

/** Shown when a page fails to load or render. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = () => {
    reset()
    void router.invalidate()
  }
  return (
    <Container component="main" size="sm" py="xl">
      <Title order={1} mb="md">
        This page cannot be shown
      </Title>
      <ErrorPanel error={error} onRetry={retry} />
    </Container>
  )
}
