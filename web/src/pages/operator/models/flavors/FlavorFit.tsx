import { Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import {
  type FlavorFit as Fit,
  type FlavorHardware,
  flavorFitQuery,
  TYPING_MS,
} from '../../../../api/operator/catalogue'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { StatusBadge } from '../../../../ui/StatusBadge'

/** What the server accepts as a GPU type; others would be rejected. */
const GPU_TYPE = /^[\w.-]{1,100}\/[\w.-]{1,100}$/

/** Whether a replica with these GPUs has a place on some node. */
export function useFlavorFit({ gpuType, gpuCount, driver, weights }: FlavorHardware) {
  const typed: FlavorHardware = {
    gpuType: gpuType.trim(),
    gpuCount,
    driver,
    ...(weights?.trim() ? { weights: weights.trim() } : {}),
  }
  const [settled] = useDebouncedValue(JSON.stringify(typed), TYPING_MS)
  const query: FlavorHardware = JSON.parse(settled)
  return useQuery({ ...flavorFitQuery(query), enabled: GPU_TYPE.test(query.gpuType) && query.gpuCount >= 1 })
}

export function FlavorFit({ fit }: { fit: ReturnType<typeof useFlavorFit> }) {
  if (fit.error && !fit.data) {
    return (
      <ErrorPanel
        error={fit.error}
        title="Whether a replica fits could not be checked"
        onRetry={() => void fit.refetch()}
      />
    )
  }
  if (!fit.data) return null
  return (
    <div role="status" aria-label="Fit">
      <FitOf fit={fit.data} />
    </div>
  )
}

function FitOf({ fit }: { fit: Fit }) {
  if (fit.fits === false) {
    return (
      <>
        <StatusBadge tone="warn">Does not fit</StatusBadge> <Text span>{fit.why}</Text>
      </>
    )
  }
  if (!fit.fits) return <Text span>{fit.why}</Text>
  const replicas = fit.replicas === 1 ? '1 replica' : `${fit.replicas} replicas`
  return (
    <>
      <StatusBadge tone="ok">Fits</StatusBadge>{' '}
      <Text span>
        {replicas} on all nodes, {fit.freeReplicas} on GPUs that are free now
      </Text>
    </>
  )
}
