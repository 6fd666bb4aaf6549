import { ActionIcon, Code, Group, Loader, Text, Tooltip } from '@mantine/core'
import { IconCode, IconRefresh } from '@tabler/icons-react'
import { CopyButton } from '../../ui/CopyButton'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatCount, formatDuration, formatMoney } from '../../ui/format'
import { StatusBadge } from '../../ui/StatusBadge'
import type { Choice } from './choices'
import type { Answer } from './conversation'
import { costOf, tokensPerSecond } from './figures'
import { MarkdownText } from './MarkdownText'
import classes from './Playground.module.css'

type Props = {
  answer: Answer
  choice: Choice | undefined
  onRegenerate: (() => void) | undefined
  onShowCode: () => void
}

export function AnswerView({ answer, choice, onRegenerate, onShowCode }: Props) {
  const isComing = answer.state === 'streaming'
  return (
    <section className={classes.answer} aria-label={`Answer of ${answer.model}`} data-state={answer.state}>
      <Group gap="xs" className={classes.answerHead}>
        <Code>{answer.model}</Code>
        {isComing ? <StatusBadge tone="busy">Answering</StatusBadge> : null}
        {answer.state === 'stopped' ? <StatusBadge tone="idle">Stopped</StatusBadge> : null}
        {answer.finish === 'length' ? (
          <StatusBadge tone="warn" title="It reached the limit of tokens or the end of the context">
            Cut at the token limit
          </StatusBadge>
        ) : null}
      </Group>
      {answer.reasoning ? (
        <details className={classes.reasoning} open={isComing && !answer.text}>
          <summary>Reasoning</summary>
          {answer.reasoning}
        </details>
      ) : null}
      {isComing && !answer.text && !answer.reasoning ? (
        <Loader size="sm" type="dots" aria-label="Waiting for the first token" />
      ) : null}
      <MarkdownText text={answer.text} />
      {answer.failure ? (
        <ErrorPanel
          title="The answer failed"
          error={Object.assign(new Error(answer.failure.message), answer.failure)}
        />
      ) : null}
      {isComing ? null : (
        <Group gap="xs" justify="space-between" className={classes.answerFoot}>
          <Figures answer={answer} choice={choice} />
          <Group gap={2}>
            <CopyButton value={answer.text} label="Copy answer" />
            <Tooltip label="Show code of this request">
              <ActionIcon
                variant="subtle"
                color="gray"
                c="dimmed"
                aria-label="Show code of this request"
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

/** Tokens, money and time, as far as they are known: an answer that was stopped tells no tokens. */
function Figures({ answer, choice }: { answer: Answer; choice: Choice | undefined }) {
  const { usage, firstTokenMs, totalMs } = answer
  const speed = tokensPerSecond(answer)
  const cost = usage && choice?.pricing ? costOf(usage, choice.pricing) : undefined
  const cached = usage?.cachedTokens ? ` (${formatCount(usage.cachedTokens)} cached)` : ''
  const figures: [string, string | undefined][] = [
    ['Tokens', usage && `${formatCount(usage.promptTokens)}${cached} in, ${formatCount(usage.completionTokens)} out`],
    ['Cost', cost ? formatMoney(cost) : choice?.isEndpoint ? 'by GPU-hour' : undefined],
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
