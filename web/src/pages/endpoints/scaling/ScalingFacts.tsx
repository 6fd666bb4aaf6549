import { Code } from '@mantine/core'
import type { Endpoint } from '../../../api/endpoints'
import classes from '../Endpoints.module.css'
import { describeReplicas, describeTarget, describeWindow } from './scaling'

/** Configuration of an endpoint as a list. */
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
          <dt>Scale up after</dt>
          <dd>{describeWindow(endpoint.scaleUpWindowSeconds)} above target</dd>
          <dt>Scale down after</dt>
          <dd>{describeWindow(endpoint.scaleDownWindowSeconds)} below target</dd>
          {endpoint.minReplicas === 0 ? (
            <>
              <dt>Scale to zero after</dt>
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
