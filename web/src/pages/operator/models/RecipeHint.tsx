import { Alert, Button, Code, Stack, Text } from '@mantine/core'
import type { Recipe } from './recipes'

type Props = {
  recipe: Recipe
  /** Those that a server needs which is not started here. */
  options?: string
  /** The versions of the engine that have the parsers. */
  versions?: string | undefined
  /** Labels of fields, and the values that they would get; without any, there is nothing to apply. */
  changes: [string, string | number | undefined][]
  onApply: () => void
}

/** Offers the settings that a family of models needs. */
export function RecipeHint({ recipe, options, versions, changes, onApply }: Props) {
  if (changes.length === 0 && !options) return null
  return (
    <Alert role="note" variant="outline" title={`Recipe for ${recipe.family}`}>
      <Stack gap="xs">
        {options ? (
          <Text size="sm">
            Without these options of the server, calls with tools fail
            {options.includes('--reasoning-parser') ? ' or thoughts are part of the text' : ''}: <Code>{options}</Code>
          </Text>
        ) : null}
        {versions ? <Text size="sm">{versions}</Text> : null}
        {changes.length > 0 ? (
          <>
            <Text size="sm">{changes.map(([label, value]) => `${label}: ${value}`).join(', ')}</Text>
            <Button size="xs" variant="default" w="fit-content" onClick={onApply}>
              Use the recipe
            </Button>
          </>
        ) : null}
      </Stack>
    </Alert>
  )
}
