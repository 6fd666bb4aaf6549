/** Switching to another organization or workspace. */

import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { toApiError } from '../api/errors'
import { chooseContext, useReplaceSession } from '../api/session'

export function useChooseContext() {
  const replaceSession = useReplaceSession()
  return useMutation({
    mutationFn: chooseContext,
    onSuccess: replaceSession,
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Could not switch', message: toApiError(error).message }),
  })
}
