/** Users of the whole platform, for the operator. */

import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from '../client'
import { type ListQuery, tableQuery } from '../pages'

export type User = Schemas['User']
export type NewUser = Schemas['NewUser']

const at = (userId: string) => ({ params: { path: { userId } } })

const KEY = ['operator', 'users'] as const
const SUGGESTIONS = 20

/** Everything about users, to be loaded again after a change. */
export const users = { queryKey: KEY }

export const userTableQuery = (list: ListQuery) =>
  tableQuery(KEY, list, (query, signal) => unwrap(client.GET('/api/users', { params: { query }, signal })))

/** Users whose addresses have the text, for a list of suggestions. */
export const foundUsersQuery = (search: string) =>
  queryOptions({
    queryKey: [...KEY, 'found', search],
    queryFn: async ({ signal }) => {
      const query = { search: search || undefined, sort: 'email', limit: SUGGESTIONS }
      return (await unwrap(client.GET('/api/users', { params: { query }, signal }))).data
    },
    placeholderData: keepPreviousData,
  })

/** The response has the generated password, once. */
export const createUser = (body: NewUser) => unwrap(client.POST('/api/users', { body }))

export const setOperator = (userId: string, operator: boolean) =>
  unwrap(client.PATCH('/api/users/{userId}', { ...at(userId), body: { operator } }))

/** The response has the generated password, once. */
export const resetPassword = (userId: string) =>
  unwrap(client.POST('/api/users/{userId}/reset-password', { ...at(userId), body: {} }))

export const deleteUser = (userId: string) => unwrap(client.DELETE('/api/users/{userId}', at(userId)))
