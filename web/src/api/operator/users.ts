/** Users of the whole platform, for the operator. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from '../client'
import { everyPage } from '../pages'

export type User = Schemas['User']
export type NewUser = Schemas['NewUser']

const at = (userId: string) => ({ params: { path: { userId } } })

export const usersQuery = queryOptions({
  queryKey: ['operator', 'users'],
  queryFn: ({ signal }) => everyPage((query) => unwrap(client.GET('/api/users', { params: { query }, signal }))),
})

/** The response has the generated password, once. */
export const createUser = (body: NewUser) => unwrap(client.POST('/api/users', { body }))

export const setOperator = (userId: string, operator: boolean) =>
  unwrap(client.PATCH('/api/users/{userId}', { ...at(userId), body: { operator } }))

/** The response has the generated password, once. */
export const resetPassword = (userId: string) =>
  unwrap(client.POST('/api/users/{userId}/reset-password', { ...at(userId), body: {} }))

export const deleteUser = (userId: string) => unwrap(client.DELETE('/api/users/{userId}', at(userId)))
