/** Downloads of weights, in words. */

import type { WeightsDownload } from '../../../../api/operator/weights'
import { formatBytes, formatDuration } from '../../../../ui/format'
import { displayIn } from '../../../../ui/states'

export const stateOf = displayIn({
  queued: { tone: 'idle', label: 'Waiting' },
  downloading: { tone: 'busy', label: 'Downloading' },
  verifying: { tone: 'busy', label: 'Verifying' },
  done: { tone: 'ok', label: 'Downloaded' },
  failed: { tone: 'bad', label: 'Failed' },
  cancelled: { tone: 'idle', label: 'Cancelled' },
  missing: { tone: 'warn', label: 'Files are missing' },
})

export const isActive = ({ state }: WeightsDownload) =>
  state === 'queued' || state === 'downloading' || state === 'verifying'

export const canResume = ({ state }: WeightsDownload) =>
  state === 'failed' || state === 'cancelled' || state === 'missing'

/**
 * The download of these weights that has got furthest: every node may have its own. One that stopped on another node than
 * `nodeId` does not count, because this node can still download them, or has them already.
 */
export function downloadOf(
  downloads: readonly WeightsDownload[],
  weights: string,
  nodeId: string | undefined,
): WeightsDownload | undefined {
  const all = downloads.filter((one) => one.weights === weights)
  return all.find(({ state }) => state === 'done') ?? all.find(isActive) ?? all.find((one) => one.nodeId === nodeId)
}

/** The share that has arrived, from 0 to 100. */
export const percentOf = ({ doneBytes, bytes }: WeightsDownload) =>
  bytes === 0 ? 100 : Math.min(100, Math.floor((doneBytes / bytes) * 100))

/** `1.2 GiB of 4.6 GiB, 85 MiB/s, 41 s left`. */
export function progressOf(download: WeightsDownload): string {
  const { doneBytes, bytes, bytesPerSecond } = download
  const amount = `${formatBytes(doneBytes)} of ${formatBytes(bytes)}`
  if (download.state !== 'downloading' || bytesPerSecond === 0) return amount
  const left = formatDuration(((bytes - doneBytes) / bytesPerSecond) * 1_000)
  return `${amount}, ${formatBytes(bytesPerSecond)}/s, ${left} left`
}

/** `hf://acme/tiny@0123456…/tiny.Q4.gguf` is `acme/tiny/tiny.Q4.gguf`. */
export const shortName = (weights: string) => weights.replace(/^hf:\/\//, '').replace(/@[^/]+/, '')

/** Distinguishes a download from those of the same weights on other nodes. */
export const nameOf = ({ weights, nodeId }: WeightsDownload) => `${shortName(weights)} on ${nodeId}`
