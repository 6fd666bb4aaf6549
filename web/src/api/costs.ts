/** What a month costs, by day, model, key and endpoint. */

import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { ask, client, type Schemas } from './client'
import { polled } from './polling'

export type Costs = Schemas['Costs']
export type UsageLine = Schemas['UsageLine']
export type GpuCostsLine = Schemas['GpuCostsLine']

const COST_POLL_MS = 15_000

export const costsQuery = (workspaceId: string, month: string) =>
  queryOptions({
    queryKey: ['costs', workspaceId, month],
    queryFn: async ({ signal }) => {
      const params = { path: { workspaceId }, query: { month } }
      return (await ask(client.GET('/api/workspaces/{workspaceId}/costs', { params, signal }))) as Costs
    },
    placeholderData: keepPreviousData,
    ...polled(COST_POLL_MS),
  })

export const usageQuery = (workspaceId: string, span: { from: string; to: string }, groupBy: string) =>
  queryOptions({
    queryKey: ['usage', workspaceId, span, groupBy],
    queryFn: async ({ signal }) => {
      const params = { path: { workspaceId }, query: { ...span, groupBy } }
      const report = await ask(client.GET('/api/workspaces/{workspaceId}/usage', { params, signal }))
      return report as Schemas['UsageReport']
    },
    placeholderData: keepPreviousData,
    ...polled(COST_POLL_MS),
  })

/** Members are told of the workspaces they belong to, administrators of all. */
export const gpuCostsQuery = (organizationId: string, span: { from: string; to: string }, groupBy: string) =>
  queryOptions({
    queryKey: ['gpu-costs', organizationId, span, groupBy],
    queryFn: async ({ signal }) => {
      const params = { path: { organizationId }, query: { ...span, groupBy } }
      const report = await ask(client.GET('/api/organizations/{organizationId}/gpu-costs', { params, signal }))
      return report as Schemas['GpuCosts']
    },
    placeholderData: keepPreviousData,
    ...polled(COST_POLL_MS),
  })

const csv = (path: string, query: Record<string, string>) =>
  `${path}?${new URLSearchParams({ ...query, format: 'csv' })}`

/** Files that the server writes. */
export const costFiles = {
  costs: (workspaceId: string, month: string) => csv(`/api/workspaces/${workspaceId}/costs`, { month }),
  invoice: (workspaceId: string, month: string) => csv(`/api/workspaces/${workspaceId}/invoice`, { month }),
  usage: (workspaceId: string, span: { from: string; to: string }, groupBy: string) =>
    csv(`/api/workspaces/${workspaceId}/usage`, { ...span, groupBy }),
  gpuCosts: (organizationId: string, span: { from: string; to: string }, groupBy: string) =>
    csv(`/api/organizations/${organizationId}/gpu-costs`, { ...span, groupBy }),
} as const
