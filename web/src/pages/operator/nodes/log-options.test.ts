import { describe, expect, it } from 'vitest'
import type { EngineLog } from '../../../api/operator/nodes'
import { logOptions, parseLog, valueOfLog } from './log-options'

const log = (change: object) => ({ endpointName: null, clusterNode: null, ...change }) as unknown as EngineLog

describe('logs as options', () => {
  it('are grouped by the node that has them', () => {
    const logs = [
      log({ replicaId: 'acme/tiny#1', node: 'node_1' }),
      log({ replicaId: 'rep_1', node: 'node_1', endpointName: 'chat' }),
      log({ replicaId: 'rep_2', node: null, clusterNode: 'worker' }),
    ]
    const shown = logOptions(logs).map(({ group, items }) => [group, ...items.map(({ label }) => label)])
    expect(shown).toEqual([
      ['Node node_1', 'acme/tiny#1', 'chat: rep_1'],
      ['Cluster node worker', 'rep_2'],
    ])
  })
  it('are read back from their value', () => {
    const refs = [
      { replicaId: 'acme/tiny#1', node: 'node_1' },
      { replicaId: 'rep_2', node: '' },
    ]
    for (const ref of refs) expect(parseLog(valueOfLog(ref))).toEqual(ref)
  })
})
