/** GPUs in the order of the map: by node and type, and by endpoint. */

import type { Gpu } from '../../../api/operator/nodes'

/** GPUs of one type on one node. */
export type GpuGroup = { node: string; gpuType: string; isCluster: boolean; gpus: Gpu[]; free: number }
export type EndpointGpus = { id: string; name: string; model: string; count: number; nodes: string[] }

const ORDER: readonly Gpu['state'][] = ['held', 'serverless', 'other', 'unknown', 'unavailable', 'free']

/** Free GPUs are last in their group. */
export function groupByNode(gpus: readonly Gpu[]): GpuGroup[] {
  const groups = new Map<string, GpuGroup>()
  for (const gpu of gpus) {
    const key = `${gpu.node} ${gpu.gpuType}`
    const empty = { node: gpu.node, gpuType: gpu.gpuType, isCluster: gpu.cluster, gpus: [], free: 0 }
    const group = groups.get(key) ?? empty
    group.gpus.push(gpu)
    if (gpu.state === 'free') group.free += 1
    groups.set(key, group)
  }
  const rank = ({ state }: Gpu) => ORDER.indexOf(state)
  for (const group of groups.values()) group.gpus.sort((one, other) => rank(one) - rank(other))
  return [...groups.values()]
}

/** Endpoints that hold GPUs, those with the most first. */
export function groupByEndpoint(gpus: readonly Gpu[]): EndpointGpus[] {
  const endpoints = new Map<string, EndpointGpus>()
  for (const { holder, node } of gpus) {
    if (!holder) continue
    const { endpointId: id, endpointName: name, model } = holder
    const found = endpoints.get(id) ?? { id, name, model, count: 0, nodes: [] }
    found.count += 1
    if (!found.nodes.includes(node)) found.nodes.push(node)
    endpoints.set(id, found)
  }
  return [...endpoints.values()].sort((one, other) => other.count - one.count || one.name.localeCompare(other.name))
}

/** What has a GPU, in words. */
export function ownerOf({ state, holder, model }: Gpu): string {
  switch (state) {
    case 'held':
      return holder?.endpointName ?? 'Ending replica'
    case 'serverless':
      return model ?? 'Serverless model'
    case 'other':
      return 'Others'
    case 'unknown':
      return 'Free or others'
    case 'unavailable':
      return 'Not available'
    case 'free':
      return 'Free'
  }
}

/** A short name of a GPU: the number of a slot, or the start of a unique id. */
export function shortId({ id, cluster }: Gpu): string {
  if (cluster) return ''
  const slot = id.lastIndexOf('#')
  return slot >= 0 ? id.slice(slot) : id.slice(0, 12)
}

/** How much a GPU computes; empty if that is unknown. */
export function activityOf({ busy, busyPercent }: Gpu): string {
  if (busyPercent != null) return `${busyPercent}% busy`
  return busy ? 'busy' : ''
}

const count = (gpus: readonly Gpu[], state: Gpu['state']) => gpus.filter((gpu) => gpu.state === state).length

/** Such as "3 of 8 free". */
export function summaryOf(gpus: readonly Gpu[]): string {
  const unknown = count(gpus, 'unknown')
  const free = `${count(gpus, 'free')} of ${gpus.length} free`
  return unknown ? `${free}, ${unknown} free or used by others` : free
}
