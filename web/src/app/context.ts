/** Moving to another organization or workspace. */

import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { asFailure } from '../api/errors'
import { chooseContext, useTakeSession } from '../api/session'

export function useChooseContext() {
  const take = useTakeSession()
  return useMutation({
    mutationFn: chooseContext,
    onSuccess: take,
    onError: (error) => notifications.show({ color: 'red', title: 'Not switched', message: asFailure(error).message }),
  })
}
