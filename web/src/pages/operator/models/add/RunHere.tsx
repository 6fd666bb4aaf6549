import { SimpleGrid, TextInput } from '@mantine/core'
import { useState } from 'react'
import { OptionalNumber } from '../../../../ui/OptionalNumber'
import { NewModelForm } from './NewModelForm'

/** Runs a model with the built-in engine. */
export function RunHere() {
  const [weights, setWeights] = useState('')
  const [replicas, setReplicas] = useState<number | undefined>(1)
  return (
    <NewModelForm
      title="Run a model on this installation"
      initial={{ id: '' }}
      serving={() => ({ engine: { weights: weights.trim(), ...(replicas === undefined ? {} : { replicas }) } })}
      servingNames={['engine', 'engine.weights', 'engine.replicas']}
    >
      {(errors) => (
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
          <TextInput
            label="Weights"
            description="A GGUF file or model folder on the nodes, or an hf:// reference"
            placeholder="/srv/models/tiny.gguf"
            required
            autoComplete="off"
            spellCheck={false}
            value={weights}
            error={errors.of('engine.weights') ?? errors.of('engine')}
            onChange={(event) => setWeights(event.currentTarget.value)}
          />
          <OptionalNumber
            label="Engines"
            description="On every node"
            min={1}
            allowDecimal={false}
            value={replicas}
            error={errors.of('engine.replicas')}
            onChange={setReplicas}
          />
        </SimpleGrid>
      )}
    </NewModelForm>
  )
}
