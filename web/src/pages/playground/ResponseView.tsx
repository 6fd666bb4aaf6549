import { ActionIcon, Code, Group, Text, Tooltip } from '@mantine/core'
import { IconCode, IconRefresh } from '@tabler/icons-react'
import { CopyButton } from '../../ui/CopyButton'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatCount, formatDuration, formatMoney } from '../../ui/format'
import { StatusBadge } from '../../ui/StatusBadge'
import type { Answer, ToolResult } from './conversation'
import { costOf, tokensPerSecond } from './figures'
import { inLines } from './json-values'
import { MarkdownText } from './MarkdownText'
import type { ModelOption } from './model-options'
import classes from './Playground.module.css'
import { ToolCalls } from './ToolCalls'
import { Waiting } from './Waiting'

type Props = {
  answer: Answer
  /** Its place beside others, counted from one. */
  lane: number | undefined
  option: ModelOption | undefined
  onRegenerate: (() => void) | undefined
  /** Sends the results of the tools that the model calls. */
  onContinue: ((results: ToolResult[]) => void) | undefined
  onShowCode: () => void
}

export function ResponseView({ answer, lane, option, onRegenerate, onContinue, onShowCode }: Props) {
  const isStreaming = answer.state === 'streaming'
  const name = lane === undefined ? 'Response' : `Response ${lane}`
  return (
    <section className={classes.answer} aria-label={`${name} from ${answer.model}`} data-state={answer.state}>
      <Group gap="xs" className={classes.answerHead}>
        <Code>{answer.model}</Code>
        {isStreaming ? <StatusBadge tone="busy">Generating</StatusBadge> : null}
        {answer.state === 'stopped' ? <StatusBadge tone="idle">Stopped</StatusBadge> : null}
        {answer.finish === 'length' ? (
          <StatusBadge tone="warn" title="The response reached the token limit or the end of the context">
            Token limit reached
          </StatusBadge>
        ) : null}
      </Group>
      {answer.reasoning ? (
        <details className={classes.reasoning} open={isStreaming && !answer.text}>
          <summary>Reasoning</summary>
          {answer.reasoning}
        </details>
      ) : null}
      {isStreaming && !answer.text && !answer.reasoning && !answer.calls ? (
        <Waiting option={option} isAccepted={answer.requestId !== undefined} />
      ) : null}
      <MarkdownText text={answer.parameters.response_format && answer.text ? asCode(answer.text) : answer.text} />
      {answer.calls ? <ToolCalls calls={answer.calls} onContinue={isStreaming ? undefined : onContinue} /> : null}
      {answer.failure ? (
        <ErrorPanel
          title="The response failed"
          error={Object.assign(new Error(answer.failure.message), answer.failure)}
        />
      ) : null}
      {isStreaming ? null : (
        <Group gap="xs" justify="space-between" className={classes.answerFoot}>
          <Figures answer={answer} option={option} />
          <Group gap={2}>
            <CopyButton value={answer.text} label="Copy response" />
            <Tooltip label="Show code for this request">
              <ActionIcon
                variant="subtle"
                color="gray"
                c="dimmed"
                aria-label="Show code for this request"
                onClick={onShowCode}
              >
                <IconCode size={16} />
              </ActionIcon>
            </Tooltip>
            {onRegenerate ? (
              <Tooltip label="Regenerate">
                <ActionIcon variant="subtle" color="gray" c="dimmed" aria-label="Regenerate" onClick={onRegenerate}>
                  <IconRefresh size={16} />
                </ActionIcon>
              </Tooltip>
            ) : null}
          </Group>
        </Group>
      )}
    </section>
  )
}

const asCode = (json: string) => `\`\`\`json\n${inLines(json)}\n\`\`\``

/** Tokens, cost and timings, as far as they are known. */
function Figures({ answer, option }: { answer: Answer; option: ModelOption | undefined }) {
  const { usage, firstTokenMs, totalMs } = answer
  const speed = tokensPerSecond(answer)
  const cost = usage && option?.pricing ? costOf(usage, option.pricing) : undefined
  const cached = usage?.cachedTokens ? ` (${formatCount(usage.cachedTokens)} cached)` : ''
  const figures: [string, string | undefined][] = [
    [
      'Tokens',
      usage &&
        `${answer.isEstimate ? 'about ' : ''}${formatCount(usage.promptTokens)}${cached} in, ${formatCount(usage.completionTokens)} out`,
    ],
    ['Cost', cost ? formatMoney(cost) : option?.isEndpoint ? 'per GPU-hour' : undefined],
    ['First token', firstTokenMs === undefined ? undefined : formatDuration(firstTokenMs)],
    ['Speed', speed === undefined ? undefined : `${speed.toFixed(1)} tokens/s`],
    ['Total', totalMs === undefined ? undefined : formatDuration(totalMs)],
  ]
  return (
    <dl className={classes.figures}>
      {figures.map(([label, value]) =>
        value === undefined ? null : (
          <div key={label}>
            <Text component="dt" size="xs" c="dimmed">
              {label}
            </Text>
            <Text component="dd" size="xs">
              {value}
            </Text>
          </div>
        ),
      )}
    </dl>
  )
}
