import { Select, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useLayoutEffect, useRef } from 'react'
import { type LogRef, logFile, logQuery, logsQuery } from '../../../api/operator/nodes'
import { DownloadLink } from '../../../ui/DownloadLink'
import { text } from '../../../ui/filters'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { SearchField } from '../../../ui/SearchField'
import { PanelSkeleton } from '../../../ui/Skeletons'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Operator.module.css'
import { logOptions, parseLog, valueOfLog } from './log-options'

const FILTERS = { log: text(), on: text(), find: text() }
/** Pixels from the end within which a reader follows the log. */
const AT_END = 24

/** The end of an engine's log on any node, renewed every few seconds, with a search. */
export function EngineLogs() {
  const logs = useQuery(logsQuery)
  const [{ log, on, find }, change] = useFilters(FILTERS)
  const search = useCallback((words: string) => change({ find: words.trim() }), [change])
  const chosen: LogRef = { replicaId: log, node: on }
  return (
    <Panel
      id="logs"
      title="Logs of engines"
      description="Replicas of endpoints and engines of serverless models, on all nodes"
      actions={log ? <DownloadLink href={logFile(chosen)}>Download</DownloadLink> : null}
    >
      <Loaded query={logs} skeleton={<PanelSkeleton height={56} />} errorTitle="The logs could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No engine has written a log.</Text>
          ) : (
            <Stack gap="sm">
              <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
                <Select
                  aria-label="Engine"
                  placeholder="Choose an engine"
                  searchable
                  data={logOptions(all)}
                  value={log ? valueOfLog(chosen) : null}
                  onChange={(value) => {
                    const { replicaId, node } = parseLog(value ?? '')
                    change({ log: replicaId, on: node })
                  }}
                />
                <SearchField label="Search the log" placeholder="Only lines with" value={find} onChange={search} />
              </SimpleGrid>
              {log ? <LogText log={chosen} find={find} /> : null}
            </Stack>
          )
        }
      </Loaded>
    </Panel>
  )
}

function LogText({ log, find }: { log: LogRef; find: string }) {
  const query = useQuery(logQuery(log, find))
  return (
    <Loaded query={query} skeleton={<PanelSkeleton height={200} />} errorTitle="The log could not be loaded">
      {(lines) =>
        lines ? (
          <Lines key={`${valueOfLog(log)} ${find}`} lines={lines} label={`Log of ${log.replicaId}`} />
        ) : (
          <Text c="dimmed">{find ? 'No line contains this text.' : 'The log is empty.'}</Text>
        )
      }
    </Loaded>
  )
}

/** Starts at the end, and follows new lines unless the reader has scrolled up. */
function Lines({ lines, label }: { lines: string; label: string }) {
  const box = useRef<HTMLElement>(null)
  const follows = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines move the end.
  useLayoutEffect(() => {
    if (box.current && follows.current) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  return (
    <section
      ref={box}
      className={classes.log}
      aria-label={label}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        follows.current = scrollHeight - scrollTop - clientHeight < AT_END
      }}
    >
      <pre>{lines}</pre>
    </section>
  )
}
