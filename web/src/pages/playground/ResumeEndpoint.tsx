import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconPlayerPlay } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { resumeEndpoint } from '../../api/endpoints'
import { toApiError } from '../../api/errors'

/** Resumes a suspended endpoint as it is; its page has a dialog to make it smaller. */
export function ResumeEndpoint({ name }: { name: string }) {
  const queries = useQueryClient()
  const resume = useMutation({
    mutationFn: () => resumeEndpoint(name),
    onError: (error) =>
      notifications.show({ color: 'red', title: `Could not resume ${name}`, message: toApiError(error).message }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['endpoints'] }),
  })
  return (
    <Button
      variant="default"
      size="compact-sm"
      leftSection={<IconPlayerPlay size={14} />}
      loading={resume.isPending}
      onClick={() => resume.mutate()}
    >
      Resume {name}
    </Button>
  )
}
