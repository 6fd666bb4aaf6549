import { Code, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { withCode } from '../../ui/with-code'
import classes from './Help.module.css'
import { type ApiDocument, type Body, type Member, membersOf, type Operation } from './reference'

type Props = {
  document: ApiDocument
  operations: readonly Operation[]
  /** The operation that a link leads to is open. */
  linked: string
}

/** Operations by their tags. */
export function Operations({ document, operations, linked }: Props) {
  const tags = [...new Set(operations.map(({ tag }) => tag))].sort()
  if (tags.length === 0) return <Text c="dimmed">No operation found</Text>
  return tags.map((tag) => (
    <section key={tag} aria-label={tag}>
      <Title order={2} tt="capitalize">
        {tag}
      </Title>
      {operations
        .filter((one) => one.tag === tag)
        .map((one) => (
          <Opened key={one.id} id={one.id} isLinked={one.id === linked} summary={<Heading operation={one} />}>
            {() => <Details operation={one} document={document} />}
          </Opened>
        ))}
    </section>
  ))
}

const Heading = ({ operation: { method, path, summary } }: { operation: Operation }) => (
  <>
    <Code>
      {method} {path}
    </Code>{' '}
    {withCode(summary)}
  </>
)

function Details({ operation, document }: { operation: Operation; document: ApiDocument }) {
  const { id, description, parameters, request, responses } = operation
  return (
    <>
      {description ? <Text>{withCode(description)}</Text> : null}
      <a href={`#${id}`}>Link to this operation</a>
      {parameters.length > 0 ? (
        <>
          <Title order={3}>Parameters</Title>
          <Members members={parameters} document={document} />
        </>
      ) : null}
      {request.length > 0 ? <Title order={3}>Request body</Title> : null}
      <Bodies bodies={request} document={document} />
      <Title order={3}>Responses</Title>
      <dl>
        {responses.map(({ status, description, bodies }) => (
          <div key={status}>
            <dt>
              <Code>{status}</Code>
            </dt>
            <dd>
              {withCode(description)}
              <Bodies bodies={bodies} document={document} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

const Bodies = ({ bodies, document }: { bodies: readonly Body[]; document: ApiDocument }) =>
  bodies.map(({ type, schema }) => {
    const members = membersOf(schema, document)
    return members.length > 0 ? (
      <Opened key={type} summary={type}>
        {() => <Members members={members} document={document} />}
      </Opened>
    ) : (
      <div key={type}>{type}</div>
    )
  })

type MembersProps = { members: readonly (Member & { in?: string })[]; document: ApiDocument }

const Members = ({ members, document }: MembersProps) => (
  <dl>
    {members.map((one) => (
      <div key={`${one.in} ${one.name}`}>
        <dt>
          <Code>{one.name}</Code> {one.in ? `${one.in}, ` : ''}
          {one.type}
          {one.isRequired ? ', required' : ''}
        </dt>
        <dd>
          {withCode(one.description)}
          {membersOf(one.schema, document).length > 0 ? (
            <Opened summary={`Members of ${one.name}`}>
              {() => <Members members={membersOf(one.schema, document)} document={document} />}
            </Opened>
          ) : null}
        </dd>
      </div>
    ))}
  </dl>
)

type OpenedProps = { id?: string; summary: ReactNode; isLinked?: boolean; children: () => ReactNode }

/** Its content is made when it is opened: schemas can contain themselves. */
function Opened({ id, summary, isLinked = false, children }: OpenedProps) {
  const [isOpen, setOpen] = useState(isLinked)
  useEffect(() => {
    if (isLinked) setOpen(true)
  }, [isLinked])
  return (
    <details
      id={id}
      className={classes.operation}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{summary}</summary>
      {isOpen ? <div className={classes.details}>{children()}</div> : null}
    </details>
  )
}
