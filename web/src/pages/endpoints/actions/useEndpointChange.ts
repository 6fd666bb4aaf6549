import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Endpoint } from '../../../api/endpoints'

/** Runs a change, shows `message` when it succeeds, and refetches everything it may have affected. */
export function useEndpointChange(
  change: () => Promise<Endpoint>,
  message: string,
  onDone: () => void,
  isDeleted = false,
) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: (endpoint) => {
      queries.setQueryData(['endpoints', endpoint.workspaceId, endpoint.name], endpoint)
      // Queries of a deleted endpoint's page would only return 404.
      void queries.invalidateQueries({ queryKey: ['endpoints'], refetchType: isDeleted ? 'none' : 'active' })
      void queries.invalidateQueries({ queryKey: ['allotments'] })
      notifications.show({ message, color: 'teal' })
      onDone()
    },
  })
}
