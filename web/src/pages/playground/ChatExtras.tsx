import { Select } from '@mantine/core'
import { useState } from 'react'
import type { ChatParameters } from '../../api/inference'
import { Folded } from '../../ui/Folded'
import { JsonField } from './JsonField'
import { jsonSchema, readSchema, readTools, SCHEMA_EXAMPLE, TOOLS_EXAMPLE } from './json-values'
import type { Lacking } from './lacking'

const FORMATS = [
  { value: 'json_object', label: 'JSON' },
  { value: 'json_schema', label: 'JSON that fits a schema' },
]
const EFFORTS = ['low', 'medium', 'high'].map((value) => ({ value, label: value }))

type Props = { parameters: ChatParameters; lacking: Lacking; onChange: (changed: Partial<ChatParameters>) => void }

/** Format of the response, tools and thinking. Folded, because most chats need none of it. */
export function ChatExtras({ parameters, lacking, onChange }: Props) {
  const { response_format: sent, tools, reasoning_effort: effort } = parameters
  // A schema that is chosen but not typed yet is not sent.
  const [format, setFormat] = useState<string | null>(sent?.type ?? null)
  const choose = (chosen: string | null) => {
    setFormat(chosen)
    onChange({ response_format: chosen === 'json_object' ? { type: chosen } : undefined })
  }
  return (
    <Folded title="Format, tools and thinking" isOpen={!!(sent || tools || effort)}>
      <Select
        label="Response format"
        description={lacking('json_schema')}
        placeholder="Text"
        clearable
        data={FORMATS.map((one) => ({ ...one, disabled: one.value === 'json_schema' && !!lacking('json_schema') }))}
        value={format}
        onChange={choose}
      />
      {format === 'json_schema' ? (
        <JsonField
          label="JSON schema"
          example={SCHEMA_EXAMPLE}
          value={sent?.type === 'json_schema' ? sent.json_schema.schema : undefined}
          read={readSchema}
          onChange={(schema) => onChange({ response_format: schema && jsonSchema(schema) })}
        />
      ) : null}
      <JsonField
        label="Tools"
        disabledReason={lacking('tools')}
        example={TOOLS_EXAMPLE}
        value={tools}
        read={readTools}
        onChange={(changed) => onChange({ tools: changed })}
      />
      <Select
        label="Thinking effort"
        description={lacking('reasoning') ?? 'For models that think before they respond'}
        disabled={!effort && !!lacking('reasoning')}
        placeholder="Default"
        clearable
        data={EFFORTS}
        value={effort ?? null}
        onChange={(value) => onChange({ reasoning_effort: value ?? undefined })}
      />
    </Folded>
  )
}
