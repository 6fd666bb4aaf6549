import { Code } from '@mantine/core'
import type { Endpoint } from '../../../api/endpoints'
import classes from '../Endpoints.module.css'
import { describeReplicas, describeTarget, describeWindow } from './scaling'

/** What an endpoint is, in words. */
export function ScalingFacts({ endpoint }: { endpoint: Endpoint }) {
  const isAuto = endpoint.replicas == null
  return (
    <dl className={classes.facts}>
      <dt>Model ID</dt>
      <dd>
        <Code>{endpoint.modelId}</Code>
      </dd>
      <dt>Model</dt>
      <dd>{endpoint.model}</dd>
      <dt>Flavor</dt>
      <dd>
        {endpoint.flavor}: {endpoint.hardware.gpuCount} × {endpoint.hardware.gpuType}, {endpoint.hardware.precision}
      </dd>
      <dt>Scaling</dt>
      <dd>{describeReplicas(endpoint)}</dd>
      {isAuto ? (
        <>
          <dt>Target</dt>
          <dd>{describeTarget(endpoint)}</dd>
          <dt>Up after</dt>
          <dd>{describeWindow(endpoint.scaleUpWindowSeconds)} above it</dd>
          <dt>Down after</dt>
          <dd>{describeWindow(endpoint.scaleDownWindowSeconds)} below it</dd>
          {endpoint.minReplicas === 0 ? (
            <>
              <dt>To zero after</dt>
              <dd>{describeWindow(endpoint.scaleToZeroWindowSeconds)} without a call</dd>
            </>
          ) : null}
        </>
      ) : null}
      <dt>Commits</dt>
      <dd>
        {endpoint.committedGpus} {endpoint.committedGpus === 1 ? 'GPU' : 'GPUs'}
      </dd>
    </dl>
  )
}
