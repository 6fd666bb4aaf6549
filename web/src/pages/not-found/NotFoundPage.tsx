import { Button } from '@mantine/core'
import { paths } from '../../paths'
import { EmptyState } from '../../ui/EmptyState'
import { Link } from '../../ui/Link'
import { PageHeader } from '../../ui/PageHeader'

export function NotFoundPage() {
  return (
    <>
      <PageHeader title="Page not found" />
      <EmptyState
        title="This page does not exist"
        actions={
          <Button component={Link} href={paths.models()}>
            Go to the Model Library
          </Button>
        }
      >
        Check the address, or choose a page in the navigation.
      </EmptyState>
    </>
  )
}
