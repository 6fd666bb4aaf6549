import { useState } from 'react'
import { FlavorFieldset } from '../flavors/FlavorFieldset'
import { EMPTY_FLAVOR, flavorNames, toFlavor } from '../flavors/flavor-fields'
import { NewModelForm } from './NewModelForm'

/** A model that has no servers of its own: tenants create dedicated endpoints of it. */
export function OfferFlavor() {
  const [fields, setFields] = useState(EMPTY_FLAVOR)
  return (
    <NewModelForm
      title="Offer a model for dedicated endpoints"
      initial={{ id: '' }}
      serving={() => ({ flavors: [toFlavor(fields)] })}
      servingNames={flavorNames(0)}
    >
      {(errors) => (
        <FlavorFieldset fields={fields} index={0} modelWeights={undefined} errors={errors} onChange={setFields} />
      )}
    </NewModelForm>
  )
}
